import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type IPty, spawn } from "@lydell/node-pty";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../../test/setup/bundle-program.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { anApproval } from "../calls/approval.fixture.ts";
import { createTerminalApprover } from "./terminal-approver.ts";

let base: string;
let program: string;

beforeAll(async () => {
  base = temporaryFolder("haft-terminal-");
  program = await bundleProgram("src/cli/ask-at-terminal.fixture.ts", join(base, "out"));
}, 60_000);

class Terminal {
  text = "";
  readonly #pty: IPty;
  readonly #news = new Set<() => void>();

  constructor(approvals: readonly unknown[], options: object = {}, abortMs?: number) {
    const more = abortMs === undefined ? [] : [String(abortMs)];
    this.#pty = spawn(process.execPath, [program, JSON.stringify(approvals), JSON.stringify(options), ...more], {
      cols: 500,
      rows: 50,
      cwd: base,
      env: { ...process.env, TERM: "xterm-256color" } as Record<string, string>,
    });
    this.#pty.onData((data) => {
      this.text += data;
      for (const listener of this.#news) listener();
    });
    onTestFinished(() => {
      try {
        this.#pty.kill("SIGKILL");
      } catch {
        // It has ended.
      }
    });
  }

  async waitForScreen(pattern: RegExp | string, times = 1): Promise<void> {
    const count = (): number => this.text.split(pattern).length - 1;
    while (count() < times) {
      await new Promise<void>((resolve) => {
        const listener = (): void => (this.#news.delete(listener), resolve());
        this.#news.add(listener);
      });
    }
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  /** As a person does who reads first. On a busy machine the moment may be too short: then once more. */
  async press(key: string, until: RegExp | string): Promise<void> {
    const seen = this.waitForScreen(until).then(() => true);
    for (let i = 0; i < 15; i++) {
      await new Promise((done) => setTimeout(done, 900));
      if (this.text.split(until).length > 1) return;
      this.type(key);
      if (await Promise.race([seen, new Promise((done) => setTimeout(() => done(false), 600))])) return;
    }
    throw new Error(`"${key}" is not taken: ${this.text}`);
  }

  async answers(): Promise<unknown[]> {
    await this.waitForScreen(/ANSWERS .*raw (?:true|false)/);
    const [, json, raw] = /ANSWERS (.*) raw (true|false)/.exec(this.text)!;
    if (raw !== "false") throw new Error("The terminal is not given back as it was.");
    return JSON.parse(json!) as unknown[];
  }
}

const question = (more: object = {}) => anApproval({ id: "apr_000abc", input: { command: "rm \u202ex" }, ...more });

describe("at a real terminal, key by key,", () => {
  test("the question is drawn in full, and a key that was typed before does not count", async () => {
    const terminal = new Terminal([question()]);
    await terminal.waitForScreen("starting");
    terminal.type("y");
    await terminal.waitForScreen("q = leave open");
    expect(terminal.text).toContain("rm \\u{202e}x");
    expect(terminal.text).not.toContain("\u202e");
    expect(terminal.text).not.toContain("always");
    await terminal.press("n", "why not?");
    terminal.type("need");
    terminal.type("\x7f");
    terminal.type("\x1b[A");
    await terminal.waitForScreen("nee");
    terminal.type("\r");
    expect(await terminal.answers()).toEqual([{ approved: false, by: "terminal", reason: "nee" }]);
  });

  test("neither pasted text, nor arrow keys, nor what the terminal itself says is an answer", async () => {
    const terminal = new Terminal([question()], { by: "ann" });
    await terminal.waitForScreen("q = leave open");
    await new Promise((done) => setTimeout(done, 1200));
    for (const noise of ["yes\r", "\x1b[1;1R", "\x1b[A", "sa"]) {
      terminal.type(noise);
      await new Promise((done) => setTimeout(done, 100));
    }
    await terminal.waitForScreen("That is not an answer: press one key.", 2);
    await terminal.press("y", "ANSWERS");
    expect(await terminal.answers()).toEqual([{ approved: true, scope: "once", by: "ann" }]);
  });

  test.each([
    ["y\r", { approved: true, scope: "once", by: "terminal" }],
    ["N\n", { approved: false, by: "terminal" }],
    ["q\r\n", null],
  ])("a key that arrives together with Enter is an answer: %j", async (typed, answer) => {
    const terminal = new Terminal([question()]);
    await terminal.waitForScreen("q = leave open");
    await terminal.press(typed, "ANSWERS");
    expect(await terminal.answers()).toEqual([answer]);
  });

  test("the choices fit 80 columns", async () => {
    const terminal = new Terminal([question({ suggestedRules: ["Bash(rm x)"] })]);
    await terminal.waitForScreen("q = leave open: ");
    const line = /  (y = .*)$/m.exec(terminal.text)![1]!;
    expect(line).toBe("y = approve once, s = this session, a = always, n = no, q = leave open: ");
    expect(line.length).toBeLessThan(78);
    await terminal.press("n", "why not? (Enter: no reason)");
  });

  test("always shows the rule, and takes another one", async () => {
    const terminal = new Terminal([question({ suggestedRules: ["Bash(rm x)"] })]);
    await terminal.waitForScreen("a = always");
    await terminal.press("a", "rule: Bash(rm x)");
    terminal.type("\x7f");
    terminal.type(" -i)");
    await terminal.waitForScreen("Bash(rm x -i)");
    await terminal.press("\r", "Type broader to save it");
    expect(terminal.text).toMatch(/Every caller in this workspace may run rm x -i in any folder[^]*Type broader/);
    terminal.type("broader\r");
    expect(await terminal.answers()).toEqual([
      { approved: true, scope: "always", rule: ["Bash(rm x -i)"], by: "terminal", confirmBroader: true },
    ]);
  });

  test("an edited rule is saved after its sentence was shown, and what is not a rule is not saved", async () => {
    const summary = { subject: { kind: "text", text: "x" }, risk: { level: "low", reasons: [] } };
    const terminal = new Terminal([question({ suggestedRules: ['post(to=="ann" && nothing else)'], summary })]);
    await terminal.waitForScreen("s = this session");
    await terminal.press("s", "rule: post(");
    terminal.type("\x15post(");
    await terminal.press("\r", "bracket is not closed");
    await terminal.waitForScreen(/not closed[^]*s = this session/);
    await terminal.press("s", /not closed[^]*rule: post\(to/);
    terminal.type('\x15post(to=="ann")');
    await terminal.press("\r", "Press Enter to save it");
    expect(terminal.text).toContain('may call post with to "ann", whatever its other values are, without asking');
    await terminal.press("\r", "ANSWERS");
    expect(await terminal.answers()).toEqual([
      { approved: true, scope: "session", rule: ['post(to=="ann")'], by: "terminal" },
    ]);
  });

  test("what is not shown needs a word, and neither y nor yes is it", async () => {
    const terminal = new Terminal([question({ unseen: "Not shown: 1300 files." })]);
    await terminal.waitForScreen("y = approve once");
    await terminal.press("y", "Type unseen to approve it");
    terminal.type("yes\r");
    await terminal.waitForScreen(/unseen to approve it[^]*y = approve once/);
    await terminal.press("y", /y = approve once[^]*Type unseen[^]*y = approve once[^]*Type unseen/);
    terminal.type("unseen\r");
    expect(await terminal.answers()).toEqual([{ approved: true, scope: "once", by: "terminal", confirmUnshown: true }]);
  });

  test("a question of ask_user takes numbers, labels and text, and a y is no answer", async () => {
    const options = [{ label: "api" }, { label: "docs\u202e", description: "all pages" }];
    const questions = [{ question: "Which part?", options, free_text: false }, { question: "Why?" }];
    const terminal = new Terminal([question({ questions })]);
    await terminal.waitForScreen("1: 1-2: ");
    expect(terminal.text).toContain("2. docs\\u{202e}: all pages");
    await terminal.press("y\r", "does not accept text");
    terminal.type("2\r");
    await terminal.waitForScreen("2: text: ");
    terminal.type("less to do\r");
    const answers = [{ choices: ["docs\u202e"] }, { text: "less to do" }];
    expect(await terminal.answers()).toEqual([{ approved: true, answers, by: "terminal" }]);
  });

  test("two questions are asked one after the other, and a key answers only the one it follows", async () => {
    const terminal = new Terminal([question(), question({ id: "apr_000def" })]);
    await terminal.waitForScreen("(apr_000abc)");
    await terminal.press("y", "(apr_000def)");
    terminal.type("y");
    await terminal.press("q", "left open");
    expect(await terminal.answers()).toEqual([{ approved: true, scope: "once", by: "terminal" }, null]);
  });

  test("a question that was answered elsewhere is taken away", async () => {
    const terminal = new Terminal([question()], {}, 1500);
    expect(await terminal.answers()).toEqual([null]);
    expect(terminal.text).toContain("no longer needed");
  });
});

describe("at a real terminal, line by line,", () => {
  test("an answer needs the code of the question, which no line typed before can have", async () => {
    const terminal = new Terminal([question()], { lineMode: true });
    await terminal.waitForScreen("starting");
    // Half a line, which the kernel keeps until its end is typed.
    terminal.type("y");
    await terminal.waitForScreen("q = leave open");
    await terminal.press("\r", /leave open.*leave open/s);
    await terminal.press("n abc not today\r", "ANSWERS");
    expect(await terminal.answers()).toEqual([{ approved: false, by: "terminal", reason: "not today" }]);
  });
});

test("without a terminal nobody is asked, and nothing is written or read", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.write("y\n");
  const ask = createTerminalApprover({ input, output });
  expect(await ask(question(), new AbortController().signal)).toBeUndefined();
  expect(output.read()).toBeNull();
  expect(String(input.read())).toBe("y\n");
});
