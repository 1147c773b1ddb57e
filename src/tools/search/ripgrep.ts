import { parse } from "node:path";
import { toolError, ToolError } from "../../core/error.ts";
import type { OpenDirectory } from "../../io/files/files.ts";
import type { Exit } from "../../io/shell/exit-status.ts";
import { startProcess } from "../../io/shell/run-process.ts";
import { shellEnvironment } from "../../io/shell/shell-environment.ts";

export interface RipgrepRun {
  /** Options only: no bare word, so that nothing is ever taken for a path. */
  options: readonly string[];
  directory: OpenDirectory;
  /** Files below the directory; absent means all of it. */
  files?: readonly string[];
  signal: AbortSignal;
  timeoutMs: number;
}

export interface RipgrepAnswer {
  /** Up to where it came. */
  output: string;
  /** Before each path in the output. */
  prefix: string;
  /** `time`, `size`: it was stopped, and the output is a part. */
  end: "complete" | "time" | "size";
}

export interface Ripgrep {
  run(search: RipgrepRun): Promise<RipgrepAnswer>;
}

/** `native` is the binary for this platform, `wasm` the same program in a Node child: slower, but wherever Node is. */
export type RipgrepEngine = "native" | "wasm";

interface Program {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  place(directory: OpenDirectory): { cwd: string; prefix: string };
}

/** Answers the search needs fit many times; beyond it the rest is left out, and that is said. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export interface RipgrepOptions {
  /** Without one it is the native one where that starts, else the other. */
  engine?: RipgrepEngine;
  /** Another binary than the one that is installed with this package. */
  binary?: string;
}

/** ripgrep as a function. */
export function createRipgrep({ engine, binary }: RipgrepOptions = {}): Ripgrep {
  let chosen: Promise<Program> | undefined;
  return {
    async run(search) {
      const program = await (chosen ??= engine === "wasm" ? wasmProgram() : nativeProgram(binary).catch(wasmProgram));
      try {
        return await runProgram(program, search);
      } catch (error) {
        if (engine === "native" || !isUnusable(error)) throw error;
        // It did not start, or it crashed.
        chosen = wasmProgram();
        return runProgram(await chosen, search);
      }
    },
  };
}

async function nativeProgram(binary: string | undefined): Promise<Program> {
  return {
    // The import throws where there is no binary for the platform.
    argv: [binary ?? (await import("@vscode/ripgrep")).rgPath],
    env: shellEnvironment({ host: process.env }),
    place: (directory) => ({ cwd: directory.path, prefix: "./" }),
  };
}

async function wasmProgram(): Promise<Program> {
  const { rgPath } = await import("ripgrep");
  // It would keep its code in the folder for temporary files, where others could leave theirs for it.
  const nowhere = { TMPDIR: rgPath, TMP: rgPath, TEMP: rgPath };
  return {
    // With helper threads Node 20 sometimes crashes when such a program ends early.
    argv: [process.execPath, ...("bun" in process.versions ? [] : ["--single-threaded"]), rgPath],
    env: { ...shellEnvironment({ host: process.env }), ...nowhere },
    // It sees nothing above its working directory, and ignore files lie there too.
    place: ({ real }) => {
      const { root } = parse(real);
      return { cwd: root, prefix: real === root ? "./" : `${real.slice(root.length)}/` };
    },
  };
}

async function runProgram(program: Program, search: RipgrepRun): Promise<RipgrepAnswer> {
  const { directory, options, files, signal, timeoutMs } = search;
  const { cwd, prefix } = program.place(directory);
  const paths = files === undefined ? [prefix] : files.map((file) => prefix + file);
  const running = await startProcess({
    argv: [...program.argv, "--no-config", "--no-messages", "--color=never", ...options, "--", ...paths],
    cwd,
    env: program.env,
    signal,
    timeoutMs,
    graceMs: 200,
    // Each stream gets a quarter of it, and of that the first half is what holds the beginning.
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
  const complaint = (stderr?.head ?? "").trim();
  if (output === "" && complaint.startsWith("rg: ")) throw refused(complaint);
  // Files that could not be read give a 2, too, without a word.
  if (exit.exitCode === null || exit.exitCode > 2 || (output === "" && complaint !== ""))
    throw unusable(exit, complaint);
  return { output, prefix, end: "complete" };
}

function refused(complaint: string): ToolError {
  const type = /unrecognized file type: (\S+)/.exec(complaint)?.[1];
  if (type !== undefined) {
    return toolError("invalid_input", `ripgrep knows no file type "${type}"`, {
      next: "Use include instead, such as *.ts.",
    });
  }
  const reason = /^error: .*/ms.exec(complaint)?.[0] ?? complaint.replace(/^rg: /, "");
  const advice = /multiline/i.test(complaint)
    ? "Set multiline to true to match across lines"
    : "Correct the expression";
  const [firstLine = ""] = reason.replace(/^error: /, "").split("\n");
  return toolError("bad_pattern", `The pattern is not a valid regular expression: ${firstLine.slice(0, 500)}`, {
    next: `${advice}, or set fixed_strings to true to search for the text as it is written.`,
    data: { complaint: complaint.slice(0, 2_000) },
  });
}

function unusable(exit: Exit, complaint: string): ToolError {
  const how = exit.signal ?? `exit code ${exit.exitCode}`;
  return toolError("failed", `The search program ended with ${how}${complaint && `: ${complaint.slice(0, 500)}`}`, {
    next: "Try again; if it persists, tell the user.",
    data: { unusable: true },
  });
}

function isUnusable(error: unknown): boolean {
  return error instanceof ToolError && !["bad_pattern", "cancelled"].includes(error.code);
}
