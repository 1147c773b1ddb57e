import { afterEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { readProcess } from "../../io/shell/process-tree.ts";
import { ProcessTable } from "../../io/shell/process-table.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { testTool } from "../../testing/test-tool.ts";
import type { ExecDependencies } from "./exec.ts";
import { createProcessTool } from "./process.ts";
import { createRuntimeTools } from "../tool-families.ts";

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

function stage(more: Partial<ExecDependencies> = {}) {
  const workspace = temporaryFolder("haft-process-");
  const processes = new ProcessTable();
  const environments = createSessionEnvironments({ host: process.env });
  const files = createFiles(createPathPolicy({ workspace }));
  const requested: string[] = [];
  const haft = createHaft({
    tools: createRuntimeTools({ processes, environments, files, ...more }),
    folder: workspace,
    approver: async ({ input }) => {
      requested.push(String((input as { action?: string }).action ?? "exec"));
      return { approved: true, by: "test" };
    },
  });
  endings.push(() => processes.shutdown());
  const start = async (command: string, more: Record<string, unknown> = {}, session?: string): Promise<string> => {
    const input = { command, run_in_background: true, ...more };
    const result = await haft.execute("exec", input, session === undefined ? {} : { caller: { session } });
    const { processId: id } = result.details as { processId: string };
    // The first output of a command in these tests means that it is ready.
    const { output } = processes.get(session === undefined ? "default" : `session:${session}`, id).process;
    while (/echo|seq/.test(command) && output.totalBytes === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    return id;
  };
  const ask = (action: string, more: Record<string, unknown> = {}, session?: string): Promise<ToolResult> =>
    haft.execute("process", { action, ...more }, session === undefined ? {} : { caller: { session } });
  const toEnd = (id: string) => ask("poll", { id, wait_ms: 20_000 });
  return { haft, processes, start, ask, toEnd, requested };
}

const outputOf = (result: ToolResult): string => (result.details as { output: string }).output;

describe("process", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createProcessTool({ processes: new ProcessTable() }), {
      inputs: [{ action: "clear" }],
      badInputs: [
        {},
        { action: "look" },
        { action: "poll" },
        { action: "write", id: "x" },
        { action: "paste", id: "x" },
        { action: "send-keys", id: "x" },
        { action: "log", id: "x", limit: 0 },
      ],
    });
  });

  test("polls new output, then the exit", async () => {
    const { start, ask, toEnd } = stage();
    const id = await start("echo one; read x; echo two; exit 3", { keep_stdin_open: true });
    await ask("poll", { id, wait_ms: 0 });
    const quiet = await ask("poll", { id, wait_ms: 0 });
    expect(textOf(quiet.content)).toMatch(/^\(no new output\)\n\n\[process "[a-z-]+": running for /);
    expect(quiet.details).toMatchObject({ id, status: "running", running: true, exitCode: null, output: "" });
    await ask("submit", { id, wait_ms: 0 });
    const end = await toEnd(id);
    expect(end.status).toBe("completed");
    expect(end.details).toMatchObject({ status: "failed", running: false, exitCode: 3, reason: "exited" });
    expect(textOf(end.content)).toContain("failed, exit 3 after");
    expect(outputOf(await ask("log", { id }))).toBe("one\ntwo");
  });

  test("without a wait returns at the first new output", async () => {
    const { start, ask, processes } = stage();
    const id = await start("echo; read x; echo got $x; sleep 1; echo later; sleep 300", { keep_stdin_open: true });
    await ask("poll", { id, wait_ms: 0 });
    const polling = ask("poll", { id });
    processes.submit("default", id, "it");
    expect(outputOf(await polling)).toBe("got it\n");
  });

  test("fails at once for an unknown id or one of another owner, and lists the known ones", async () => {
    const { start, ask } = stage();
    const mine = await start("sleep 300", {}, "me");
    const theirs = await start("sleep 300", {}, "you");
    for (const id of ["no-such", theirs]) {
      for (const action of ["poll", "log", "kill", "remove", "submit"]) {
        const result = await ask(action, { id, ...(action === "log" ? {} : { wait_ms: 20_000 }) }, "me");
        expect(result).toMatchObject({ status: "failed", error: { code: "unknown_process", data: { known: [mine] } } });
        expect(textOf(result.content)).toContain(mine);
      }
    }
    expect((await ask("list", {}, "you")).details).toMatchObject({ processes: [{ id: theirs, status: "running" }] });
  });

  test("lists running and finished processes", async () => {
    const { start, ask, toEnd } = stage();
    expect(textOf((await ask("list")).content)).toContain("No process");
    const running = await start("sleep 300");
    const ended = await start("sleep 1; grep zzz /dev/null");
    await toEnd(ended);
    const list = await ask("list");
    expect(list.display).toBe("1 running, 1 finished");
    expect(textOf(list.content)).toMatch(
      new RegExp(`^${running}  running for .* s  sleep 300\n${ended}  completed, exit 1`),
    );
    expect(list.details).toMatchObject({
      processes: [
        { id: running, status: "running", exitCode: null, command: "sleep 300" },
        { id: ended, status: "completed", exitCode: 1 },
      ],
    });
  });

  test("pages through the log by lines", async () => {
    const { start, ask, toEnd } = stage();
    const id = await start("seq 1 500; printf '\\033[1mend\\033[0m\\n'; sleep 1");
    await toEnd(id);
    const last = await ask("log", { id, limit: 2 });
    expect(outputOf(last)).toBe("500\nend");
    expect(textOf(last.content)).toContain("[lines 500 to 501 of 501]");
    const page = await ask("log", { id, offset: 10, limit: 3 });
    expect(page.details).toMatchObject({ output: "10\n11\n12", totalLines: 501, nextOffset: 13, truncated: false });
    expect(textOf(page.content)).toContain("[lines 10 to 12 of 501; Use offset=13 to continue.]");
    expect(outputOf(await ask("log", { id, offset: 0, limit: 1 }))).toBe("1");
    expect(textOf((await ask("log", { id, offset: 900 })).content)).toBe("[no lines here; there are 501 in total]");
  });

  test("names the spill for lines that are no longer in memory", async () => {
    let bytes = 0;
    const openSpill = () => ({
      write: (chunk: Buffer) => void (bytes += chunk.length),
      close: async () => ({ ref: "whole.txt" }),
    });
    const { start, ask, toEnd } = stage({ openSpill });
    const id = await start("echo; sleep 1; yes 0123456789abcdef | head -c 3000000");
    await toEnd(id);
    expect(bytes).toBe(3_000_001);
    const page = await ask("log", { id, offset: 90_000, limit: 5 });
    expect(page.details).toMatchObject({
      missing: { from: 90_000, to: 90_004 },
      spillRef: "whole.txt",
      truncated: true,
    });
    expect(textOf(page.content)).toContain(
      'no longer in memory; Continue with read {"path":"whole.txt","offset":90000}; Use offset=90005 to continue.]',
    );
  });

  test("writes to a pipe, and closes it", async () => {
    const { start, ask, toEnd } = stage();
    const id = await start("echo; cat; echo closed", { keep_stdin_open: true });
    await ask("write", { id, data: "héllo\n", wait_ms: 0 });
    await ask("write", { id, data: "bye\n", eof: true, wait_ms: 0 });
    const end = await toEnd(id);
    expect(end.details).toMatchObject({ status: "completed", exitCode: 0 });
    expect(outputOf(await ask("log", { id }))).toBe("\nhéllo\nbye\nclosed");
    expect(await ask("write", { id, data: "more" })).toMatchObject({ error: { code: "conflict" } });
  });

  test("names the next step if there is no input", async () => {
    const { start, ask } = stage();
    const id = await start("sleep 300");
    const result = await ask("write", { id, data: "x" });
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  });

  test("types text, keys and pastes on a terminal and shows the output", async () => {
    const { start, ask } = stage();
    const id = await start("cat", { pty: true });
    const typed = await ask("write", { session: id, data: "hello there\n", wait_ms: 1000 });
    expect(typed.details).toMatchObject({ status: "running" });
    expect(outputOf(typed)).toContain("hello there");
    expect(outputOf(await ask("send-keys", { id, data: "Enter", keys: ["Enter"], wait_ms: 1000 }))).toMatch(
      /Enter\s+Enter/,
    );
    await ask("paste", { id, text: "pasted", bracketed: false, wait_ms: 0 });
    await ask("send_keys", { id, keys: "Enter", wait_ms: 0 });
    const end = await ask("write", { id, data: "\u0004", wait_ms: 20_000 });
    expect(end.details).toMatchObject({ status: "completed", exitCode: 0 });
    expect(outputOf(await ask("log", { id }))).toContain("pasted");
  });

  test("interrupts with C-c, even on a pipe", async () => {
    const { start, ask } = stage();
    const trapped = await start("trap 'echo CLEANUP; exit 42' INT; echo READY; while :; do sleep 0.05; done");
    const end = await ask("send-keys", { id: trapped, keys: ["C-c"], wait_ms: 20_000 });
    expect(end.details).toMatchObject({ status: "failed", exitCode: 42, output: expect.stringContaining("CLEANUP") });
    const plain = await start("sleep 300");
    const second = await ask("write", { id: plain, data: "\u0003", wait_ms: 20_000 });
    expect(second.details).toMatchObject({ status: "failed", exitCode: 130 });
  });

  test("kills with everything that was started, removes and clears", async () => {
    const { start, ask } = stage();
    const id = await start("sleep 300 & echo $!; wait");
    const pid = Number(outputOf(await ask("log", { id })));
    const killed = await ask("kill", { id });
    expect(killed.details).toMatchObject({ id, status: "failed", reason: "killed", survivors: [] });
    expect(readProcess(pid)?.zombie ?? true).toBe(true);
    expect((await ask("kill", { id })).details).toMatchObject({ reason: "killed" });
    const other = await start("sleep 300");
    expect(await ask("clear", { id: other })).toMatchObject({ error: { code: "conflict" } });
    expect((await ask("clear")).details).toEqual({ cleared: 1 });
    expect((await ask("remove", { id: other })).details).toEqual({ id: other, removed: true });
    expect((await ask("list")).details).toEqual({ processes: [] });
  });

  test("kills what a finished command left behind", async () => {
    const { haft, ask } = stage();
    const { details } = await haft.execute("exec", { command: "sleep 300 & echo $!" });
    const { output, processId } = details as { output: string; processId: string };
    const killed = await ask("kill", { id: processId });
    expect(textOf(killed.content)).toContain("what it left behind");
    expect(readProcess(Number(output))?.zombie ?? true).toBe(true);
  });

  test("needs approval to type, but not to read or kill", async () => {
    const { start, ask, requested } = stage();
    const id = await start("cat", { keep_stdin_open: true });
    requested.length = 0;
    for (const action of ["list", "poll", "log"]) await ask(action, action === "list" ? {} : { id, wait_ms: 0 });
    await ask("write", { id, data: "rm -rf x\n", wait_ms: 0 });
    await ask("submit", { id, wait_ms: 0 });
    await ask("paste", { id, data: "x", wait_ms: 0 });
    await ask("send-keys", { id, keys: ["x", "Enter"], wait_ms: 0 });
    await ask("send-keys", { id, keys: ["C-c"], wait_ms: 0 });
    await ask("kill", { id });
    expect(requested).toEqual(["write", "submit", "paste", "send-keys"]);
  });

  test("the preview shows what is typed, and where", async () => {
    const { haft, start } = stage();
    const id = await start("bash", { pty: true }, "s");
    const tool = haft.tools.registry.get("process")!;
    const input = { action: "submit", id, data: "rm \u200bx" };
    const context = { caller: { session: "s", depth: 0 } } as Parameters<NonNullable<typeof tool.preview>>[1];
    expect(await tool.preview!(input, context)).toEqual({
      title: `Process ${id}: submit`,
      content: [{ type: "text", text: "to: bash\ntext:\nrm \\u{200b}x" }],
    });
    expect(tool.signature!(input)).toMatchObject({
      text: `submit ${id} rm \u200bx`,
      command: { text: "rm \u200bx" },
    });
  });
});

test("a shutdown leaves nothing running", async () => {
  const { processes, start, ask } = stage();
  const ids = [await start("sleep 300 & echo $! $$; wait"), await start("cat", { pty: true })];
  const pids = outputOf(await ask("log", { id: ids[0] }))
    .split(" ")
    .map(Number);
  const infos = processes.list("default").map(({ pid }) => pid);
  await processes.shutdown();
  expect([...pids, ...infos].filter((pid) => readProcess(pid)?.zombie === false)).toEqual([]);
  expect(await ask("poll", { id: ids[0] })).toMatchObject({ details: { running: false } });
});
