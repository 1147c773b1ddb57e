import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readProcess } from "./process-tree.ts";
import { ProcessTable, type TableStartOptions } from "./process-table.ts";
import { shellEnvironment } from "./shell-environment.ts";
import { stripTerminalCodes } from "./terminal-text.ts";

const base = { cwd: tmpdir(), env: shellEnvironment({ host: process.env, terminal: true }) };
const pty = { cols: 80, rows: 24 };
const isRunning = (pid: number) => readProcess(pid)?.zombie === false;

let now = 1_000_000;
let table: ProcessTable;
beforeEach(() => void (table = new ProcessTable({ maxProcesses: 3, finishedTtlMs: 1000, clock: () => now })));
afterEach(() => table.shutdown());

const start = async (shellCommand: string, rest: Partial<TableStartOptions> = {}, owner = "me") =>
  (await table.start(owner, { shellCommand, ...base, ...rest } as TableStartOptions)).id;
const toEnd = (id: string) => table.poll("me", id, { waitMs: 20_000, until: "exit" });

async function untilSeen(id: string, text: string): Promise<string> {
  let seen = "";
  while (!seen.includes(text)) {
    const news = await table.poll("me", id, { waitMs: 20_000 });
    seen += stripTerminalCodes(news.text);
    if (!news.running && !seen.includes(text)) throw new Error(`ended without ${text}: ${seen}`);
  }
  return seen;
}

describe("a poll", () => {
  test("waits for output and returns each piece once", async () => {
    const id = await start("echo one; read x; echo two", { stdin: "pipe" });
    expect(await table.poll("me", id, { waitMs: 20_000 })).toMatchObject({ text: "one\n", running: true });
    expect(await table.poll("me", id)).toMatchObject({ text: "", running: true });
    table.submit("me", id);
    expect(await toEnd(id)).toMatchObject({ text: "two\n", running: false, exit: { exitCode: 0, reason: "exited" } });
    expect((await table.poll("me", id, { since: 0 })).text).toBe("one\ntwo\n");
  });

  test("returns when the time is up or its call is cancelled", async () => {
    const id = await start("sleep 300");
    expect(await table.poll("me", id, { waitMs: 20 })).toMatchObject({ running: true, text: "" });
    const controller = new AbortController();
    const polling = table.poll("me", id, { waitMs: 20_000, signal: controller.signal });
    controller.abort();
    expect(await polling).toMatchObject({ running: true });
  });

  test("fails at once for an unknown id and lists the known ones", async () => {
    const id = await start("sleep 300");
    const failure = table.poll("me", "no-such", { waitMs: 20_000 });
    await expect(failure).rejects.toMatchObject({ code: "unknown_process", data: { known: [id] } });
    await expect(failure).rejects.toThrow(id);
  });
});

test("a process of another owner is unknown to every method and not listed", async () => {
  const id = await start("sleep 300");
  const unknown = expect.objectContaining({ code: "unknown_process", data: { id, known: [] } });
  expect(table.list("other")).toEqual([]);
  expect(() => table.get("other", id)).toThrow(unknown);
  expect(() => table.log("other", id)).toThrow(unknown);
  expect(() => table.write("other", id, "x")).toThrow(unknown);
  expect(() => table.sendKeys("other", id, ["C-c"])).toThrow(unknown);
  expect(() => table.submit("other", id)).toThrow(unknown);
  expect(() => table.paste("other", id, "x")).toThrow(unknown);
  expect(() => table.clear("other", id)).toThrow(unknown);
  await expect(table.poll("other", id)).rejects.toEqual(unknown);
  await expect((async () => table.kill("other", id))()).rejects.toEqual(unknown);
  await expect(table.remove("other", id)).rejects.toEqual(unknown);
  expect(table.get("me", id).info.running).toBe(true);
});

test("a log is read by pages of lines", async () => {
  const id = await start("seq 1 500");
  await toEnd(id);
  expect(table.log("me", id)).toMatchObject({ totalLines: 500, lines: { length: 200 } });
  expect(table.log("me", id, { offset: 10, limit: 1 })).toMatchObject({
    lines: [{ number: 10, text: "10" }],
    nextOffset: 11,
  });
});

describe("input on pipes", () => {
  test("Ctrl-C interrupts a process that does not read", async () => {
    const id = await start("echo ready; sleep 300");
    await untilSeen(id, "ready");
    table.write("me", id, "\x03");
    expect(await toEnd(id)).toMatchObject({ exit: { exitCode: 130 } });
  });

  test("Enter sends a line feed, and Ctrl-D ends the input", async () => {
    const id = await start("cat", { stdin: "pipe" });
    table.sendKeys("me", id, ["hello", "Enter", "C-d"]);
    expect(await toEnd(id)).toMatchObject({ text: "hello\n", exit: { exitCode: 0 } });
  });

  test("a write can end the input", async () => {
    const id = await start("wc -c", { stdin: "pipe" });
    table.write("me", id, "12345", { eof: true });
    expect((await toEnd(id)).text.trim()).toBe("5");
  });

  test("a closed input and an ended process fail with the next step", async () => {
    const id = await start("sleep 300");
    expect(() => table.write("me", id, "x")).toThrow(/takes no input.*Start it with/);
    await table.kill("me", id);
    expect(() => table.write("me", id, "x")).toThrow(/has ended \(killed, exit code 143\)/);
  });

  test("the input for a process that does not read is limited", async () => {
    const id = await start("sleep 300", { stdin: "pipe" });
    const feed = () => {
      for (let count = 0; count < 40; count++) table.write("me", id, "x".repeat(100_000));
    };
    expect(feed).toThrow(expect.objectContaining({ code: "busy" }));
  });
});

describe("input on a terminal", () => {
  test("submit types a line, and keys are sent as key codes", async () => {
    const id = await start("read -r line; echo got:$line; sleep 300", { pty });
    table.submit("me", id, "hello");
    await untilSeen(id, "got:hello");
    table.sendKeys("me", id, ["C-c"]);
    expect(await toEnd(id)).toMatchObject({ running: false, exit: { exitCode: 130 } });
  });

  test("a paste is bracketed and cannot end its brackets", async () => {
    const script = "stty raw -echo; echo ready; head -c 21 | od -An -c";
    const id = await start(script, { pty });
    await untilSeen(id, "ready");
    table.paste("me", id, "a\x1b[201~b\nc.....");
    const seen = (await untilSeen(id, "1   ~")).replace(/\s+/g, " ");
    expect(seen).toContain("033 [ 2 0 0 ~ a b \\n c . . . . . 033 [ 2 0 1 ~");
  });
});

describe("the table is bounded", () => {
  test("evicts the least recently used finished process, never a running one", async () => {
    const first = await start("true");
    const second = await start("true");
    const running = await start("sleep 300");
    await toEnd(first);
    await toEnd(second);
    now += 1;
    table.log("me", first);
    const third = await start("sleep 300");
    expect(
      table
        .list("me")
        .map(({ id }) => id)
        .sort(),
    ).toEqual([first, running, third].sort());
    await start("sleep 300");
    const refusal = start("touch should-not-run");
    await expect(refusal).rejects.toMatchObject({ code: "busy" });
    await expect(refusal).rejects.toThrow(running);
  });

  test("concurrent starts do not exceed the limit", async () => {
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => start("sleep 300")));
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(3);
  });

  test("a failed start takes no slot", async () => {
    for (let count = 0; count < 5; count++) {
      await expect(start("true", { cwd: "/no/such/folder" })).rejects.toMatchObject({ code: "path_not_found" });
    }
    expect(table.list("me")).toEqual([]);
    await start("true");
  });

  test("forgets finished processes after their time, but not running ones", async () => {
    const finished = await start("true");
    const running = await start("sleep 300");
    await toEnd(finished);
    now += 999;
    expect(table.list("me").length).toBe(2);
    now += 1;
    expect(table.list("me").map(({ id }) => id)).toEqual([running]);
    await expect(table.poll("me", finished)).rejects.toMatchObject({ code: "unknown_process" });
  });
});

test("clear forgets finished processes, remove also kills running ones", async () => {
  const finished = await start("true");
  const running = await start("sleep 300");
  await toEnd(finished);
  expect(() => table.clear("me", running)).toThrow(/still running/);
  expect(table.clear("me")).toBe(1);
  const { pid } = table.get("me", running).info;
  await table.remove("me", running);
  expect(isRunning(pid)).toBe(false);
  expect(table.list("me")).toEqual([]);
});

describe("shutdown", () => {
  test("kills everything, also what finished commands left behind, and starts nothing more", async () => {
    const running = table.get("me", await start("sleep 300")).info.pid;
    const left = await start("sleep 300 & echo pid:$!");
    const leftPid = Number(/pid:(\d+)/.exec((await toEnd(left)).text)?.[1]);
    expect(isRunning(leftPid)).toBe(true);
    await table.shutdown();
    expect([running, leftPid].filter(isRunning)).toEqual([]);
    await expect(start("true")).rejects.toMatchObject({ code: "shutdown" });
  });

  test("leaves detached processes alone", async () => {
    const id = await start("exec sleep 300 >/dev/null 2>&1", { detached: true });
    const { pid } = table.get("me", id).info;
    await table.shutdown();
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  test("also kills a process that is being started", async () => {
    const starting = start("sleep 300", { pty });
    await table.shutdown();
    expect(table.get("me", await starting).info).toMatchObject({ running: false, exit: { reason: "killed" } });
  });

  test("a terminal cannot be detached", async () => {
    await expect(start("true", { pty, detached: true })).rejects.toMatchObject({ code: "invalid_input" });
  });
});

test("no zombie is left behind", async () => {
  for (let count = 0; count < 3; count++) await toEnd(await start("true"));
  const listing = execFileSync("ps", ["-o", "stat=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  expect(listing.split("\n").filter((line) => line.startsWith("Z"))).toEqual([]);
});
