// Runs command lines in one `sh`, one after the other, and says what each printed and its exit code.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parse } from "unbash";

const MAX_MS = 60_000;

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

  /** `scripts`: a folder for the text of each command. */
  constructor({ cwd, env, scripts }) {
    this.#file = join(scripts, `${randomUUID()}.sh`);
    // A group of its own, so everything that it starts can be stopped.
    this.#shell = spawn("sh", [], { cwd, env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    this.#shell.stdout.setEncoding("utf8").on("data", (text) => {
      this.#printed += text;
      this.#notify();
    });
    this.#shell.stdin.on("error", () => undefined);
    this.#shell.on("close", () => this.#notify());
    this.#shell.stdin.write("exec 2>&1\n");
  }

  get printed() {
    return this.#printed;
  }

  get hasEnded() {
    return this.#shell.exitCode !== null || this.#shell.signalCode !== null;
  }

  /** Waits for the end of the command. Its stdin is empty. */
  async run(text) {
    const mark = `\u001e${randomUUID()} `;
    this.#printed = "";
    this.start(text, `printf '%s%s\\n' '${mark}' "$?"\n`);
    const found = () => new RegExp(`${mark}(\\d+)\\n`).exec(this.#printed);
    const isDone = await this.waitFor(() => found() !== null || this.hasEnded, MAX_MS);
    const end = found();
    if (end !== null) return { output: this.#printed.slice(0, end.index), exitCode: Number(end[1]) };
    const { exitCode, signalCode } = this.#shell;
    const note = isDone ? "the shell ended" : `no end after ${MAX_MS / 1000} s`;
    return { output: `${this.#printed}\n(${note})`, exitCode: exitCode ?? signalCode ?? "none" };
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
    const { pid } = this.#shell;
    if (!this.hasEnded) {
      const closed = once(this.#shell, "close");
      // The folder goes too, so nothing has to be saved.
      this.#kill(pid);
      await closed;
    }
    this.#kill(pid);
    rmSync(this.#file, { force: true });
  }

  #kill(pid) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }
}
