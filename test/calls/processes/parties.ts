// The processes of the harness. Each has another PATH, LANG, HOME, working folder and umask; all have the same state folder.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { childEnd, type ChildEnd } from "../../setup/child-end.ts";
import type { Order, Payment, Reply } from "./library-party.ts";

/** What a party was told: `completed`, `pending`, an error code, `killed` if its process died, or `gone` if its server did. */
export interface Told {
  said: string;
  text: string;
  pending?: { kind: string; id: string };
}

export interface CallToMake {
  callId: string;
  session: string;
  input: Payment;
}

/** How a process is started, with the variation of its environment. */
export interface Start {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  umask: string;
}

const KILLED: Told = { said: "killed", text: "" };
const GONE: Told = { said: "gone", text: "" };

/** `node PROGRAM ARGS` with a umask of its own. */
function shellWords({ program, args, umask }: Start): string[] {
  return ["-c", `umask ${umask}; exec "$0" "$@"`, process.execPath, program, ...args];
}

export function startProcess(start: Start): ChildProcess {
  return spawn("/bin/sh", shellWords(start), { cwd: start.cwd, env: start.env, stdio: "pipe" });
}

/** A process that uses the library. */
export class LibraryParty {
  readonly pid: number | undefined;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  readonly #replies = new Map<number, (told: Told) => void>();
  readonly #ready: Promise<void>;
  #orders = 0;
  #errors = "";

  constructor(start: Start) {
    this.#child = startProcess(start);
    this.pid = this.#child.pid;
    this.#child.stdin!.on("error", () => undefined);
    this.#child.stderr!.on("data", (chunk) => (this.#errors += String(chunk)));
    this.ended = childEnd(this.#child);
    this.#ready = new Promise((resolve) => {
      createInterface({ input: this.#child.stdout! }).on("line", (line) => {
        if (line === "ready") return resolve();
        const { n, ...told } = JSON.parse(line) as Reply;
        this.#settle(n, told);
      });
      void this.ended.then(() => resolve());
    });
    void this.ended.then(({ signal }) => {
      const told = signal === "SIGKILL" ? KILLED : { said: "error", text: `It ended: ${this.#errors}` };
      for (const n of [...this.#replies.keys()]) this.#settle(n, told);
    });
  }

  async order(order: DistributiveOmit<Order, "n">): Promise<Told> {
    await this.#ready;
    if (this.isDead) return KILLED;
    if (this.#child.exitCode !== null) return { said: "error", text: `It ended: ${this.#errors}` };
    const n = ++this.#orders;
    const told = new Promise<Told>((resolve) => this.#replies.set(n, resolve));
    this.#child.stdin!.write(`${JSON.stringify({ ...order, n })}\n`);
    return told;
  }

  /** Ends as a program does that has nothing more to do. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    await this.ended;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  get isDead(): boolean {
    return this.#child.signalCode === "SIGKILL";
  }

  #settle(n: number, told: Told): void {
    this.#replies.get(n)?.(told);
    this.#replies.delete(n);
  }
}

type DistributiveOmit<T, K extends keyof never> = T extends unknown ? Omit<T, K> : never;

/** One run of the command line. With `--json` it prints the result of the call. */
export async function runCommand(child: ChildProcess): Promise<Told & { code: number | null }> {
  let stdout = "";
  let stderr = "";
  child.stdout!.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr!.on("data", (chunk) => (stderr += String(chunk)));
  child.stdin!.on("error", () => undefined).end();
  const { code, signal } = await childEnd(child);
  if (signal === "SIGKILL") return { ...KILLED, code };
  const text = `${stdout}${stderr}`;
  // Its server was killed, and it says that it does not know more.
  if (code === TOOL_FAILED && stderr.includes("The server ended before")) return { ...GONE, text, code };
  const told = readResult(stdout, text);
  // An answer that did not count has an exit code of its own, and no result.
  if (code === NOT_COUNTED && told.said === "error") return { said: "conflict", text, code };
  const expected = EXIT_CODES[told.said] ?? TOOL_FAILED;
  const isTrue = code === expected || (code === NOT_COUNTED && (told.said === "stale" || told.said === "pending"));
  return isTrue ? { ...told, code } : { said: `${told.said} with exit code ${code}`, text, code };
}

const NOT_COUNTED = 8;
const TOOL_FAILED = 5;
const EXIT_CODES: Readonly<Record<string, number>> = { completed: 0, pending: 7, denied: 0, approval_denied: 6 };

function readResult(json: string, text: string): Told {
  try {
    const read = JSON.parse(json) as { status?: string; state?: string; error?: { code: string } } & Pick<
      Told,
      "pending"
    >;
    if (read.error) return { said: read.error.code, text };
    if (read.status) return { said: read.status, text, pending: read.pending };
    // `approvals deny` prints the approval.
    if (read.state) return { said: read.state, text };
  } catch {
    // Not a result.
  }
  return { said: "error", text };
}

/** A client of `haft mcp`, over stdin and stdout. */
export class McpParty {
  readonly #client = new Client({ name: "harness", version: "1.0.0" });
  readonly #transport: StdioClientTransport;
  readonly #ready: Promise<unknown>;
  #pid: number | undefined;
  #isClosed = false;

  constructor(start: Start) {
    const { env, cwd } = start;
    this.#transport = new StdioClientTransport({
      command: "/bin/sh",
      args: shellWords(start),
      env,
      cwd,
      stderr: "ignore",
    });
    this.#ready = this.#client.connect(this.#transport);
    this.#ready.catch(() => undefined);
    // The transport forgets it when the process ends.
    this.#pid = this.#transport.pid ?? undefined;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  async call({ input }: CallToMake): Promise<Told> {
    try {
      await this.#ready;
      return readMcpResult(await this.#client.callTool({ name: "pay", arguments: { ...input } }, { timeout: 120_000 }));
    } catch (error) {
      // The server died: the client knows that, and nothing else.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return this.isDead || !isAlive(this.pid) ? GONE : { said: "error", text: String(error) };
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }

  get isDead(): boolean {
    return !this.#isClosed && this.pid !== undefined && !isAlive(this.pid);
  }

  kill(): void {
    if (this.pid !== undefined && isAlive(this.pid)) process.kill(this.pid, "SIGKILL");
  }
}

function readMcpResult(result: { content?: unknown; isError?: boolean; _meta?: Json }): Told {
  const text = JSON.stringify(result.content);
  const pending = result._meta?.["haft/pending"] as Told["pending"];
  if (pending) return { said: "pending", text, pending };
  const error = result._meta?.["haft/error"] as { code: string } | undefined;
  return { said: error ? error.code : result.isError ? "error" : "completed", text };
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

export const SERVER_TOKEN = "hft_harness_0123456789abcdef0123456789abcdef";

/** `haft serve`, over HTTP. */
export class ServerParty {
  readonly child: ChildProcess;
  readonly ended: Promise<ChildEnd>;
  readonly #url: Promise<string>;

  constructor(start: Start) {
    this.child = startProcess(start);
    this.child.stdin!.on("error", () => undefined).end();
    this.ended = childEnd(this.child);
    let errors = "";
    this.child.stderr!.on("data", (chunk) => (errors += String(chunk)));
    this.#url = new Promise((resolve, reject) => {
      createInterface({ input: this.child.stdout! }).on("line", (line) => {
        const { url } = JSON.parse(line) as { url?: string };
        if (url !== undefined) resolve(url);
      });
      void this.ended.then(() => reject(new Error(`The server ended: ${errors}`)));
    });
    this.#url.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  async ready(): Promise<void> {
    await this.#url;
  }

  async url(): Promise<string> {
    return (await this.#url).replace(/\/$/, "");
  }

  async call({ callId, session, input }: CallToMake): Promise<Told> {
    return this.#told(() => this.#send("POST", "/api/calls", { tool: "pay", id: callId, session, input }));
  }

  /** Answers, and waits for the end of the call. */
  async answer(id: string, decision: "once" | "deny"): Promise<Told> {
    return this.#told(async () => {
      let answered = await this.#send("POST", `/api/approvals/${id}/answer`, { decision });
      while (!answered["error"] && !answered["result"]) answered = await this.#result(id);
      return answered["error"] ? answered : (answered["result"] as Json);
    });
  }

  /** Waits for the end of a call that was answered `pending`. */
  async follow(id: string): Promise<Told> {
    return this.#told(async () => {
      for (;;) {
        const answered = await this.#result(id);
        if (answered["error"] || answered["result"]) return (answered["result"] as Json | undefined) ?? answered;
      }
    });
  }

  /**
   * The call of an MCP client that shows a form: the first request returns the form, and any server of the state folder
   * takes the answer, together with its `state`.
   */
  async callByForm(
    { input }: CallToMake,
    state?: string,
    decision?: "once" | "deny",
  ): Promise<Told & { state?: string }> {
    const params: Json = { name: "pay", arguments: input, _meta: FORM_META };
    if (state !== undefined) params["requestState"] = state;
    if (decision) params["inputResponses"] = { approval: { action: "accept", content: { decision } } };
    let next: string | undefined;
    const told = await this.#survive(async () => {
      const response = await fetch(`${await this.url()}/mcp`, {
        method: "POST",
        headers: { ...FORM_HEADERS, authorization: `Bearer ${SERVER_TOKEN}` },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      });
      const { result, error } = readMessage(await response.text());
      if (!result) return { said: "error", text: JSON.stringify(error) };
      if (result["resultType"] !== "input_required") return readMcpResult(result);
      next = String(result["requestState"]);
      return { said: "pending", text: "", pending: { kind: "form", id: "" } };
    });
    return { ...told, state: next };
  }

  async close(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.ended;
  }

  get isDead(): boolean {
    return this.child.signalCode === "SIGKILL";
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  #result(id: string): Promise<Json> {
    return this.#send("GET", `/api/approvals/${id}/result?waitMs=20000`);
  }

  #told(send: () => Promise<Json>): Promise<Told> {
    return this.#survive(async () => {
      const received = JSON.stringify(await send());
      return readResult(received, received);
    });
  }

  async #survive(send: () => Promise<Told>): Promise<Told> {
    try {
      return await send();
    } catch (error) {
      // The connection may be lost a moment before the process is known to be dead.
      const isDead = await Promise.race([
        this.ended.then(() => this.isDead),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 10_000)),
      ]);
      return isDead ? GONE : { said: "error", text: `${String(error)} ${String((error as Error).cause)}` };
    }
  }

  async #send(method: string, path: string, body?: unknown): Promise<Json> {
    const response = await fetch(`${await this.url()}${path}`, {
      method,
      headers: { authorization: `Bearer ${SERVER_TOKEN}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return (await response.json()) as Json;
  }
}

type Json = Record<string, unknown>;

const PROTOCOL = "2026-07-28";
const FORM_META = {
  "io.modelcontextprotocol/protocolVersion": PROTOCOL,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};
const FORM_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": PROTOCOL,
  "mcp-method": "tools/call",
  "mcp-name": "pay",
};

/** The response to the request: the whole body, or the last event of a stream. */
function readMessage(body: string): { result?: Json; error?: Json } {
  const last = body.startsWith("{") ? body : (body.match(/^data: (.*)$/gm)?.at(-1) ?? "").replace("data: ", "");
  return JSON.parse(last) as { result?: Json; error?: Json };
}
