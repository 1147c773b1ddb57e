// Runs command lines in one shell, one after the other, and says what each printed and its exit code.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "unbash";
import { killGroup, startGroup } from "./processes.mjs";

/** A shell in which a pipe fails with its first part: not every `sh` has that. */
const [SHELL = "sh", ...FLAGS] =
  [["sh"], ["bash", "--posix"]].find(([name = "sh"]) => spawnSync(name, ["-c", "set -o pipefail"]).status === 0) ?? [];
const HAS_PIPEFAIL = spawnSync(SHELL, ["-c", "set -o pipefail"]).status === 0;

/** The commands of a block with their lines, counted from 0, and the exit code that `# exit 7` names. */
export function splitCommands(code) {
  const starts = [];
  const commands = [];
  const { commands: statements } = parse(code);
  for (const [index, { pos, end }] of statements.entries()) {
    const lineStart = code.lastIndexOf("\n", pos - 1) + 1;
    const previous = statements[index - 1];
    const isSameLine = previous !== undefined && previous.end > lineStart;
    if (isSameLine) commands.pop();
    else starts.push(lineStart);
    const lineEnd = code.indexOf("\n", end);
    const rest = code.slice(end, lineEnd === -1 ? undefined : lineEnd);
    const exit = /#\s*exit (\d+)\b/.exec(rest)?.[1];
    commands.push({ line: code.slice(0, starts.at(-1)).split("\n").length - 1, exitCode: Number(exit ?? 0) });
  }
  return commands.map((command, index) => ({ ...command, text: code.slice(starts[index], starts[index + 1]) }));
}

export class Terminal {
  #shell;
  #printed = "";
  #notify = () => undefined;
  #file;
  #maxMs;

  /** `scripts`: a folder for the text of each command. */
  constructor({ cwd, env, scripts, maxMs }) {
    this.#maxMs = maxMs;
    this.#file = join(scripts, `${randomUUID()}.sh`);
    this.#shell = startGroup(SHELL, FLAGS, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    this.#shell.stdout.setEncoding("utf8").on("data", (text) => {
      this.#printed += text;
      this.#notify();
    });
    this.#shell.stdin.on("error", () => undefined);
    this.#shell.on("close", () => this.#notify());
    this.#shell.stdin.write(`exec 2>&1\n${HAS_PIPEFAIL ? "set -o pipefail\n" : ""}`);
  }

  get printed() {
    return this.#printed;
  }

  get hasEnded() {
    return this.#shell.exitCode !== null || this.#shell.signalCode !== null;
  }

  /** Of a shell that ended by itself. */
  get exitCode() {
    return this.#shell.exitCode;
  }

  /** Waits for the end of the command, whose stdin is empty. After the time the terminal is closed. */
  async run(text) {
    const mark = `\u001e${randomUUID()} `;
    this.#printed = "";
    this.start(text, `printf '%s%s\\n' '${mark}' "$?"\n`);
    const found = () => new RegExp(`${mark}(\\d+)\\n`).exec(this.#printed);
    const isDone = await this.waitFor(() => found() !== null || this.hasEnded, this.#maxMs);
    const end = found();
    if (end !== null) return { output: this.#printed.slice(0, end.index), exitCode: Number(end[1]) };
    const note = isDone ? "the shell ended" : `no end after ${this.#maxMs / 1000} s`;
    if (!isDone) await this.close();
    const { exitCode, signalCode } = this.#shell;
    return { isTooLong: !isDone, output: `${this.#printed}\n(${note})`, exitCode: exitCode ?? signalCode ?? "none" };
  }

  /** Commands that give another terminal the folder and the exported variables of this one. */
  async describe() {
    const { output } = await this.run(`export -p; printf 'cd "%s"\\n' "$PWD"`);
    return output;
  }

  start(text, then = "") {
    writeFileSync(this.#file, text);
    this.#shell.stdin.write(`. '${this.#file}' </dev/null\n${then}`);
  }

  /** Returns false after the time. Looks again whenever something is printed, and when the shell ends. */
  async waitFor(isThere, maxMs) {
    const until = Date.now() + maxMs;
    while (!isThere()) {
      const left = until - Date.now();
      if (left <= 0) return false;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#notify = () => {
          clearTimeout(timer);
          resolve(undefined);
        };
      });
    }
    return true;
  }

  async close() {
    if (!this.hasEnded) {
      const closed = once(this.#shell, "close");
      // The folder goes too, so nothing has to be saved.
      killGroup(this.#shell);
      await closed;
    }
    killGroup(this.#shell);
    rmSync(this.#file, { force: true });
  }
}
