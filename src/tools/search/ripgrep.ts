import { parse } from "node:path";
import { toolError, ToolError } from "../../core/error.ts";
import type { OpenDirectory } from "../../io/files/files.ts";
import type { Exit } from "../../io/shell/exit-status.ts";
import { startProcess } from "../../io/shell/run-process.ts";
import { shellEnvironment } from "../../io/shell/shell-environment.ts";
import { importInstalled } from "../../schema/load-package.ts";

export interface RipgrepRun {
  /** Options only: a bare word would be taken for a path. */
  options: readonly string[];
  directory: OpenDirectory;
  /** Files below the directory. Default: all. */
  files?: readonly string[];
  signal: AbortSignal;
  timeoutMs: number;
}

export interface RipgrepResult {
  /** Possibly incomplete; see `end`. */
  output: string;
  /** Precedes each path in the output. */
  prefix: string;
  /** `time`, `size`: it was stopped, and the output is incomplete. */
  end: "complete" | "time" | "size";
}

export interface Ripgrep {
  run(search: RipgrepRun): Promise<RipgrepResult>;
}

/** `native` is the binary for this platform. `wasm` is the same program in a Node child process: slower but portable. */
export type RipgrepEngine = "native" | "wasm";

interface Program {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  locate(directory: OpenDirectory): { cwd: string; prefix: string };
}

/** Far more than a search needs. The rest is dropped and reported. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export interface RipgrepOptions {
  /** Default: native if it starts, else wasm. */
  engine?: RipgrepEngine;
  /** Default: the binary that is installed with this package. */
  binary?: string;
}

export function createRipgrep({ engine, binary }: RipgrepOptions = {}): Ripgrep {
  let chosen: Promise<Program> | undefined;
  return {
    async run(search) {
      const program = await (chosen ??= engine === "wasm" ? wasmProgram() : nativeProgram(binary).catch(wasmProgram));
      try {
        return await runProgram(program, search);
      } catch (error) {
        if (engine === "native" || !isUnusable(error)) throw error;
        // The native program did not start, or it crashed.
        chosen = wasmProgram();
        return runProgram(await chosen, search);
      }
    },
  };
}

async function nativeProgram(binary: string | undefined): Promise<Program> {
  return {
    // The import throws if there is no binary for the platform.
    argv: [binary ?? (await importInstalled<typeof import("@vscode/ripgrep")>("@vscode/ripgrep")).rgPath],
    env: shellEnvironment({ host: process.env }),
    locate: (directory) => ({ cwd: directory.path, prefix: "./" }),
  };
}

async function wasmProgram(): Promise<Program> {
  const { rgPath } = await importInstalled<typeof import("ripgrep")>("ripgrep");
  // It would cache its code in the temporary folder, where other users could plant theirs.
  const withoutCache = { TMPDIR: rgPath, TMP: rgPath, TEMP: rgPath };
  return {
    // With helper threads Node 20 sometimes crashes if such a program ends early.
    argv: [process.execPath, ...("bun" in process.versions ? [] : ["--single-threaded"]), rgPath],
    env: { ...shellEnvironment({ host: process.env }), ...withoutCache },
    // It sees nothing above its working directory, but ignore files may be there.
    locate: ({ real }) => {
      const { root } = parse(real);
      return { cwd: root, prefix: real === root ? "./" : `${real.slice(root.length)}/` };
    },
  };
}

async function runProgram(program: Program, search: RipgrepRun): Promise<RipgrepResult> {
  const { directory, options, files, signal, timeoutMs } = search;
  const { cwd, prefix } = program.locate(directory);
  const paths = files === undefined ? [prefix] : files.map((file) => prefix + file);
  const running = await startProcess({
    argv: [...program.argv, "--no-config", "--no-messages", "--color=never", ...options, "--", ...paths],
    cwd,
    env: program.env,
    signal,
    timeoutMs,
    graceMs: 200,
    // Each stream gets a quarter of it, and the beginning is stored in the first half of that.
    output: { maxBytes: MAX_OUTPUT_BYTES * 8, separateStreams: true },
  });
  let isFull = false;
  running.output.subscribe(() => {
    if (isFull || running.output.bytesOf("stdout") <= MAX_OUTPUT_BYTES) return;
    isFull = true;
    void running.kill();
  });
  const exit = await running.wait();
  signal.throwIfAborted();
  const { stdout, stderr } = running.output.snapshot();
  const output = stdout?.head ?? "";
  if (isFull) return { output, prefix, end: "size" };
  if (exit.reason === "timeout") return { output, prefix, end: "time" };
  const message = (stderr?.head ?? "").trim();
  if (output === "" && message.startsWith("rg: ")) throw refused(message);
  // Unreadable files also cause exit code 2, without a message.
  if (exit.exitCode === null || exit.exitCode > 2 || (output === "" && message !== "")) throw unusable(exit, message);
  return { output, prefix, end: "complete" };
}

function refused(message: string): ToolError {
  const type = /unrecognized file type: (\S+)/.exec(message)?.[1];
  if (type !== undefined) {
    return toolError("invalid_input", `ripgrep does not know the file type "${type}"`, {
      next: "Use include instead, such as *.ts.",
    });
  }
  const reason = /^error: .*/ms.exec(message)?.[0] ?? message.replace(/^rg: /, "");
  const advice = /multiline/i.test(message) ? "Set multiline to true to match across lines" : "Correct the expression";
  const [firstLine = ""] = reason.replace(/^error: /, "").split("\n");
  return toolError("bad_pattern", `The pattern is not a valid regular expression: ${firstLine.slice(0, 500)}`, {
    next: `${advice}, or set fixed_strings to true to search for plain text.`,
    data: { complaint: message.slice(0, 2_000) },
  });
}

function unusable(exit: Exit, message: string): ToolError {
  const how = exit.signal ?? `exit code ${exit.exitCode}`;
  return toolError("failed", `The search program ended with ${how}${message && `: ${message.slice(0, 500)}`}`, {
    next: "Try again; if it persists, tell the user.",
    data: { unusable: true },
  });
}

function isUnusable(error: unknown): boolean {
  return error instanceof ToolError && !["bad_pattern", "cancelled"].includes(error.code);
}
