import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { toolError } from "../../core/error.ts";
import { type FramedLaunch, FramedProcess, isRecord } from "./framed-process.ts";

/** An error that a language server reports for a file. */
export interface FileProblem {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  code: string;
  message: string;
}

/** `tsserver` is the protocol of TypeScript up to version 6. */
export type ServerProtocol = "lsp" | "tsserver";

export interface ServerLaunch extends FramedLaunch {
  protocol: ServerProtocol;
  /** A real path. */
  workspace: string;
}

/** A request that takes longer than this ends the server. */
const MAX_REQUEST_MS = 60_000;
/** Of one file. Further ones, and the rest of a message, are left out. */
const MAX_PROBLEMS = 1_000;
const MAX_TEXT_LENGTH = 1_000;
/** A server that reports by itself may report in several steps. */
const QUIET_MS = 150;

type Message = Record<string, unknown>;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

interface Reporting {
  report(problems: FileProblem[]): void;
  reject(error: Error): void;
}

/** One running language server. It has one open document: the file that was checked last. */
export class LanguageServer {
  readonly #launch: ServerLaunch;
  readonly #waiting = new Map<number, Waiting>();
  readonly #reports = new Map<string, Reporting>();
  #process!: FramedProcess;
  #nextId = 1;
  #canPull = false;
  #open: { file: string; version: number } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #ending: string | undefined;

  private constructor(launch: ServerLaunch) {
    this.#launch = launch;
  }

  /** Rejects if it does not start. */
  static async start(launch: ServerLaunch): Promise<LanguageServer> {
    const server = new LanguageServer(launch);
    server.#process = await FramedProcess.start(launch, {
      message: (message) => server.#receive(message),
      // It may be the answer to any of them.
      skipped: () => server.#reject("its answer is too long"),
      ended(why) {
        server.#ending = why;
        server.#reject(why);
      },
    });
    try {
      if (launch.protocol === "lsp") await server.#initialize();
      else await server.#ask("configure", { preferences: {} });
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  get isRunning(): boolean {
    return this.#ending === undefined;
  }

  get pid(): number {
    return this.#process.pid;
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  /** The errors of the file with each of the texts, one after the other. Calls wait for each other. */
  check(file: string, texts: readonly string[]): Promise<FileProblem[][]> {
    const run = async (): Promise<FileProblem[][]> => {
      this.#process.use();
      const found: FileProblem[][] = [];
      for (const text of texts) {
        found.push(
          await (this.#launch.protocol === "lsp" ? this.#checkLsp(file, text) : this.#checkTsserver(file, text)),
        );
      }
      return found;
    };
    const result = this.#queue.then(run);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async #initialize(): Promise<void> {
    const uri = pathToFileURL(this.#launch.workspace).href;
    const answer = await this.#ask("initialize", {
      processId: null,
      rootUri: uri,
      workspaceFolders: [{ uri, name: "workspace" }],
      capabilities: {
        general: { positionEncodings: ["utf-16"] },
        textDocument: { publishDiagnostics: { versionSupport: true }, diagnostic: {}, synchronization: {} },
        workspace: { configuration: true, didChangeWatchedFiles: { dynamicRegistration: true } },
      },
    });
    const capabilities = isRecord(answer) && isRecord(answer["capabilities"]) ? answer["capabilities"] : {};
    this.#canPull = capabilities["diagnosticProvider"] !== undefined && capabilities["diagnosticProvider"] !== null;
    this.#notify("initialized", {});
  }

  async #checkLsp(file: string, text: string): Promise<FileProblem[]> {
    const uri = pathToFileURL(file).href;
    const before = this.#open;
    const version = (before?.file === file ? before.version : 0) + 1;
    const reported = this.#canPull ? undefined : this.#awaitReport(uri);
    if (before?.file === file) {
      this.#notify("textDocument/didChange", { textDocument: { uri, version }, contentChanges: [{ text }] });
    } else {
      this.#notify("textDocument/didOpen", { textDocument: { uri, languageId: languageOf(file), version, text } });
      // After the other is open: a project without open files is dropped.
      if (before) this.#notify("textDocument/didClose", { textDocument: { uri: pathToFileURL(before.file).href } });
    }
    this.#open = { file, version };
    // A server without a watcher of its own learns of files that it has not open only by this.
    this.#notify("workspace/didChangeWatchedFiles", { changes: [{ uri, type: 2 }] });
    if (reported) return reported;
    const answer = await this.#ask("textDocument/diagnostic", { textDocument: { uri } });
    return isRecord(answer) ? lspProblems(answer["items"]) : [];
  }

  /** Resolves when no further report has come for a moment. */
  #awaitReport(uri: string): Promise<FileProblem[]> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(limit);
        clearTimeout(quiet);
        this.#reports.delete(uri);
      };
      let quiet: NodeJS.Timeout | undefined;
      const fail = (error: Error): void => {
        end();
        reject(error);
      };
      const limit = setTimeout(() => fail(unavailable("it reported nothing")), MAX_REQUEST_MS).unref();
      const report = (problems: FileProblem[]): void => {
        clearTimeout(quiet);
        quiet = setTimeout(() => {
          end();
          resolve(problems);
        }, QUIET_MS);
      };
      this.#reports.set(uri, { report, reject: fail });
    });
  }

  async #checkTsserver(file: string, text: string): Promise<FileProblem[]> {
    const closedFiles = this.#open && this.#open.file !== file ? [this.#open.file] : [];
    await this.#ask("updateOpen", { openFiles: [{ file, fileContent: text }], closedFiles });
    this.#open = { file, version: 1 };
    const [syntax, semantics] = await Promise.all([
      this.#ask("syntacticDiagnosticsSync", { file }),
      this.#ask("semanticDiagnosticsSync", { file }),
    ]);
    return [...tsserverProblems(syntax), ...tsserverProblems(semantics)];
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#ending !== undefined) return reject(unavailable(this.#ending));
      const timer = setTimeout(() => {
        reject(unavailable("it did not answer"));
        void this.close();
      }, MAX_REQUEST_MS).unref();
      this.#waiting.set(id, { resolve, reject, timer });
      if (this.#launch.protocol === "lsp") this.#process.send({ jsonrpc: "2.0", id, method, params });
      else this.#process.send({ seq: id, type: "request", command: method, arguments: params }, "line");
    });
  }

  #notify(method: string, params: object): void {
    this.#process.send({ jsonrpc: "2.0", method, params });
  }

  #receive(message: Message): void {
    if (this.#launch.protocol === "tsserver") {
      if (message["type"] === "response")
        this.#settle(message["request_seq"], message["body"], message["success"] !== false);
      return;
    }
    const { id, method, params } = message;
    if (typeof method !== "string") return this.#settle(id, message["result"], message["error"] === undefined);
    if (id !== undefined) return this.#process.send({ jsonrpc: "2.0", id, result: answerTo(method, params) });
    if (method === "textDocument/publishDiagnostics" && isRecord(params)) this.#report(params);
  }

  #report({ uri, version, diagnostics }: Message): void {
    if (typeof uri !== "string") return;
    // One of an earlier text.
    if (typeof version === "number" && this.#open && version < this.#open.version) return;
    this.#reports.get(uri)?.report(lspProblems(diagnostics));
  }

  #settle(id: unknown, value: unknown, success: boolean): void {
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (!waiting || typeof id !== "number") return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (success) waiting.resolve(value);
    else waiting.reject(unavailable("it refused a request"));
  }

  #reject(why: string): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(unavailable(why));
    }
    this.#waiting.clear();
    for (const { reject } of [...this.#reports.values()]) reject(unavailable(why));
  }
}

function unavailable(why: string): Error {
  return toolError("unavailable", `The language server cannot be used: ${why}`);
}

/** What a client without a user answers. */
function answerTo(method: string, params: unknown): unknown {
  if (method === "workspace/applyEdit") return { applied: false };
  if (method !== "workspace/configuration" || !isRecord(params) || !Array.isArray(params["items"])) return null;
  return params["items"].map(() => null);
}

// oxfmt-ignore
const LANGUAGES: ReadonlyMap<string, string> = new Map([
  [".ts", "typescript"], [".mts", "typescript"], [".cts", "typescript"], [".tsx", "typescriptreact"],
  [".js", "javascript"], [".mjs", "javascript"], [".cjs", "javascript"], [".jsx", "javascriptreact"], [".py", "python"],
  [".rs", "rust"], [".rb", "ruby"], [".sh", "shellscript"], [".cs", "csharp"], [".md", "markdown"],
]);

/** For most languages the identifier is the extension. */
function languageOf(file: string): string {
  const extension = extname(file).toLowerCase();
  return LANGUAGES.get(extension) ?? extension.slice(1);
}

function lspProblems(items: unknown): FileProblem[] {
  if (!Array.isArray(items)) return [];
  return firstProblems(items, (item): FileProblem[] => {
    if (!isRecord(item) || (item["severity"] ?? 1) !== 1) return [];
    const range = isRecord(item["range"]) && isRecord(item["range"]["start"]) ? item["range"]["start"] : {};
    const { source } = item;
    const code = typeof item["code"] === "number" || typeof item["code"] === "string" ? String(item["code"]) : "";
    return [
      {
        line: numberOf(range["line"]) + 1,
        column: numberOf(range["character"]) + 1,
        code: textOf(source === "ts" ? `TS${code}` : code || source),
        message: messageOf(item["message"]),
      },
    ];
  });
}

function tsserverProblems(items: unknown): FileProblem[] {
  if (!Array.isArray(items)) return [];
  return firstProblems(items, (item): FileProblem[] => {
    if (!isRecord(item) || item["category"] !== "error") return [];
    const start = isRecord(item["start"]) ? item["start"] : {};
    const code = typeof item["code"] === "number" ? `TS${item["code"]}` : "";
    const at = { line: numberOf(start["line"]), column: numberOf(start["offset"]) };
    return [{ ...at, code, message: messageOf(item["text"]) }];
  });
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 0;
}

function messageOf(value: unknown): string {
  return textOf(isRecord(value) ? value["value"] : value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_TEXT_LENGTH) : "";
}

function firstProblems(items: readonly unknown[], read: (item: unknown) => FileProblem[]): FileProblem[] {
  const found: FileProblem[] = [];
  for (const item of items) {
    if (found.length >= MAX_PROBLEMS) break;
    found.push(...read(item));
  }
  return found;
}
