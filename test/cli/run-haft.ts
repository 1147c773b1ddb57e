// The command line in a workspace and a home of its own: in this process, or bundled once and run as a program.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type IPty, spawn as spawnOnTerminal } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import type { Terminal } from "../../src/cli/terminal.ts";
import { stateFolderOf } from "../../src/io/files/state-folder.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface HaftCommand {
  /** The workspace; a new one with each `openFolder`. */
  readonly folder: string;
  /** Where the program keeps its state for that workspace. */
  readonly stateFolder: string;
  openFolder(): string;
  run(words: readonly string[], options?: { input?: string; env?: Record<string, string>; cwd?: string }): Promise<Ran>;
  /** The environment that it runs with. */
  readonly env: Record<string, string>;
  remove(): void;
}

export interface HaftProgram extends HaftCommand {
  /** The file that `node` runs. */
  readonly program: string;
  /** Goes on; killed at the end of the test where it still runs. */
  start(words: readonly string[], options?: { env?: Record<string, string>; maxFiles?: number }): Running;
  onTerminal(words: readonly string[], options?: { env?: Record<string, string>; cols?: number }): TerminalRun;
}

const INLINED = ["zod", "ws", "diff", "unbash", "picomatch", "ignore"];

/** A workspace, a home and a state folder for commands. */
function openPlaces() {
  const base = temporaryFolder("haft-cli-");
  let count = 0;
  let folder = "";
  const environment = (env: Record<string, string> = {}): Record<string, string> => {
    const { PATH = "", TMPDIR } = process.env;
    return {
      PATH,
      HOME: join(base, "home"),
      HAFT_STATE_DIR: join(base, "state"),
      ...(TMPDIR === undefined ? {} : { TMPDIR }),
      ...env,
    };
  };
  mkdirSync(join(base, "home"));
  const places = {
    base,
    environment,
    get folder() {
      return folder;
    },
    get stateFolder() {
      return stateFolderOf(folder, { env: environment() });
    },
    get env() {
      return environment();
    },
    openFolder(): string {
      folder = join(base, `work-${++count}`);
      mkdirSync(folder);
      return folder;
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
  places.openFolder();
  return places;
}

/** The commands in this process, which has to be the test file's own: its home becomes theirs. */
export function openHaftCommand(): HaftCommand {
  const places = openPlaces();
  process.env["HOME"] = places.env["HOME"];
  return Object.assign(places, {
    async run(
      words: readonly string[],
      { input = "", env, cwd = places.folder }: Parameters<HaftCommand["run"]>[1] = {},
    ) {
      const { runCli } = await import("../../src/cli/run-cli.ts");
      let stdout = "";
      let stderr = "";
      const code = await runCli(words, {
        stdin: Readable.from(input === "" ? [] : [Buffer.from(input)]) as unknown as Terminal["stdin"],
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        env: places.environment(env),
        cwd,
        onInterrupt: () => () => undefined,
      });
      return { code, stdout, stderr };
    },
  });
}

export async function bundleHaft(): Promise<HaftProgram> {
  const places = openPlaces();
  const program = await bundleProgram("src/cli/main.ts", join(places.base, "out"), { isSplit: true, inlined: INLINED });
  const launch = (
    words: readonly string[],
    { env, cwd = places.folder, maxFiles }: { env?: Record<string, string>; cwd?: string; maxFiles?: number } = {},
  ): ChildProcess => {
    const command = [process.execPath, program, ...words];
    // The shell becomes the program, so signals reach it.
    if (maxFiles !== undefined) command.unshift("/bin/sh", "-c", `ulimit -n ${maxFiles} && exec "$@"`, "sh");
    const [file = "", ...args] = command;
    const child = spawn(file, args, { cwd, env: places.environment(env), stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  const methods: Pick<HaftProgram, "program" | "run" | "start" | "onTerminal"> = {
    program,
    run(words, { input = "", env, cwd } = {}) {
      const child = launch(words, { env, cwd });
      // Who does not read its input may be gone before it is written.
      child.stdin!.on("error", () => undefined);
      child.stdin!.end(input);
      return new Running(child).ended;
    },
    start: (words, options) => new Running(launch(words, options)),
    onTerminal: (words, { env, cols = 200 } = {}) => {
      const pty = spawnOnTerminal(process.execPath, [program, ...words], {
        cols,
        rows: 50,
        cwd: places.folder,
        env: places.environment({ TERM: "xterm-256color", ...env }),
      });
      return new TerminalRun(pty);
    },
  };
  // Not a spread: the workspace changes.
  return Object.assign(places, methods);
}

/** A program whose output is read as it comes. */
export class Running {
  stdout = "";
  stderr = "";
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  #hasEnded = false;
  readonly #news = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout!.on("data", (chunk) => this.#listener("stdout", chunk));
    child.stderr!.on("data", (chunk) => this.#listener("stderr", chunk));
    this.ended = childEnd(child).then(({ code }) => this.#end({ code, stdout: this.stdout, stderr: this.stderr }));
  }

  /** Until its output has it. Rejects if the program ends without it. */
  async waitForOutput(pattern: RegExp, on: "stdout" | "stderr" = "stdout"): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this[on]);
      if (found) return found;
      if (this.#hasEnded) throw new Error(`It ended without saying ${pattern}:\n${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => {
        const listener = (): void => (this.#news.delete(listener), resolve());
        this.#news.add(listener);
      });
    }
  }

  #listener(on: "stdout" | "stderr", chunk: unknown): void {
    this[on] += String(chunk);
    for (const listener of [...this.#news]) listener();
  }

  #end(ran: Ran): Ran {
    this.#hasEnded = true;
    for (const listener of [...this.#news]) listener();
    return ran;
  }
}

export class TerminalRun {
  text = "";
  readonly ended: Promise<number>;
  #hasEnded = false;
  readonly #pty: IPty;
  readonly #news = new Set<() => void>();

  constructor(pty: IPty) {
    this.#pty = pty;
    pty.onData((data) => {
      this.text += data;
      for (const listener of [...this.#news]) listener();
    });
    this.ended = new Promise((resolve) =>
      pty.onExit(({ exitCode }) => {
        this.#hasEnded = true;
        resolve(exitCode);
        for (const listener of [...this.#news]) listener();
      }),
    );
    onTestFinished(() => {
      try {
        pty.kill("SIGKILL");
      } catch {
        // It has ended.
      }
    });
  }

  /** Rejects if the program ends without showing it. */
  async waitForScreen(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      if (this.#hasEnded) throw new Error(`It ended without showing ${pattern}:\n${this.text}`);
      await new Promise<void>((resolve) => {
        const listener = (): void => (this.#news.delete(listener), resolve());
        this.#news.add(listener);
      });
    }
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(cols: number): void {
    this.#pty.resize(cols, 50);
  }

  /** As a person does who reads first: a key that comes too early does not count, and is pressed again. */
  async press(key: string, until: RegExp): Promise<void> {
    const seen = this.waitForScreen(until).then(() => true);
    while (!until.test(this.text)) {
      await new Promise((done) => setTimeout(done, 900));
      if (until.test(this.text)) return;
      this.type(key);
      if (await Promise.race([seen, new Promise((done) => setTimeout(() => done(false), 600))])) return;
    }
  }
}
