// Transcripts and spans of other programs as history: judged by the policy, never run, never recorded, never a person's yes.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readHistory } from "../../src/cli/commands/history-import.ts";
import { TranscriptReader } from "../../src/models/transcripts.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const ROOT = "/home/ann/shop";

const claude = (id: string, name: string, input: object) =>
  JSON.stringify({
    ...{ type: "assistant", sessionId: "c1", cwd: ROOT, timestamp: "2026-11-01T10:00:00Z" },
    message: {
      role: "assistant",
      content: [
        { type: "text", text: "I will." },
        { type: "tool_use", id, name, input },
      ],
    },
  });
const codex = (payload: object) =>
  JSON.stringify({ timestamp: "2026-11-01T10:00:00Z", type: "response_item", payload });
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const span = (id: string, name: string, input?: object) => ({
  ...{ traceId: "t1", spanId: id, startTimeUnixNano: "1761991200000000000", name: `execute_tool ${name}` },
  attributes: [
    attribute("gen_ai.operation.name", "execute_tool"),
    attribute("gen_ai.tool.name", name),
    ...(input ? [attribute("gen_ai.tool.call.arguments", JSON.stringify(input))] : []),
  ],
});

const read = (...lines: string[]) => {
  const reader = new TranscriptReader();
  return { calls: lines.flatMap((line) => reader.read(line)), unreadable: reader.unreadable };
};

test("a transcript of Claude Code has each call once, with paths of its folder as paths of this one", () => {
  const { calls, unreadable } = read(
    JSON.stringify({ type: "user", cwd: ROOT, message: { content: "Fix it" } }),
    claude("a", "Read", { file_path: `${ROOT}/src/a.ts` }),
    claude("a", "Read", { file_path: `${ROOT}/src/a.ts` }),
    claude("b", "Bash", { command: `cd ${ROOT} && cat ${ROOT}-old/x ${ROOT}/../y` }),
    '{"type":"assistant",',
    claude("c", "Read", { file_path: `${ROOT}-old/a.ts` }),
    "",
  );
  expect(unreadable).toBe(1);
  expect(calls).toMatchObject([
    { agent: "claude", tool: "Read", input: { file_path: "src/a.ts" }, session: "c1", cwd: "." },
    { input: { command: `cd . && cat ${ROOT}-old/x ./../y` } },
    { input: { file_path: `${ROOT}-old/a.ts` } },
  ]);
  expect(calls[0]?.at).toBe(Date.parse("2026-11-01T10:00:00Z"));
});

test("a rollout of Codex has its commands and patches under the names that its hooks use", () => {
  const call = (id: string, name: string, given: object) =>
    codex({ type: "function_call", name, call_id: id, arguments: JSON.stringify(given) });
  const { calls, unreadable } = read(
    JSON.stringify({ type: "session_meta", payload: { id: "x1", cwd: ROOT } }),
    call("a", "shell", { command: ["bash", "-lc", "npm test | tail"], workdir: `${ROOT}/api` }),
    call("b", "exec_command", { cmd: "ls -la" }),
    call("c", "shell", { command: ["git", "commit", "-m", "it's done; rm -rf /"] }),
    codex({ type: "custom_tool_call", name: "apply_patch", call_id: "d", input: "*** Begin Patch" }),
    codex({ type: "local_shell_call", call_id: "e", action: { type: "exec", command: ["ls"] } }),
    call("f", "mcp__mail__send", { to: "a@b.example" }),
    codex({ type: "function_call", name: "shell", call_id: "g", arguments: "{" }),
    codex({ type: "function_call_output", call_id: "a", output: "ok" }),
  );
  expect(unreadable).toBe(1);
  expect(calls.map(({ tool, input, cwd }) => [tool, input, cwd])).toEqual([
    ["Bash", { command: "npm test | tail" }, "api"],
    ["Bash", { command: "ls -la" }, "."],
    ["Bash", { command: `git commit -m 'it'\\''s done; rm -rf /'` }, "."],
    ["apply_patch", { command: "*** Begin Patch" }, "."],
    ["Bash", { command: "ls" }, "."],
    ["mcp__mail__send", { to: "a@b.example" }, "."],
  ]);
});

test("spans of OpenTelemetry give the calls whose arguments they have", () => {
  const scope = {
    spans: [span("1", "search", { query: "tea" }), span("2", "search"), { name: "chat", attributes: [] }],
  };
  const { calls, unreadable } = read(JSON.stringify({ resourceSpans: [{ scopeSpans: [scope] }] }));
  expect(unreadable).toBe(1);
  expect(calls).toMatchObject([{ agent: undefined, tool: "search", input: { query: "tea" }, session: "t1" }]);
});

async function openHistory() {
  const folder = temporaryFolder("haft-imported-");
  const { host, haft } = await openHostCli(folder);
  mkdirSync(join(folder, "old/deep"), { recursive: true });
  writeFileSync(
    join(folder, "old/deep/c.jsonl"),
    [
      claude("a", "Read", { file_path: `${ROOT}/package.json` }),
      claude("b", "Bash", { command: "npm test" }),
      claude("c", "Write", { file_path: `${ROOT}/docs/a.md`, content: "x" }),
      claude("c2", "Edit", { file_path: `${ROOT}/src/a.ts`, old_string: "a", new_string: "b" }),
      claude("d", "Task", { prompt: "Look around" }),
      claude("e", "Bash", { command: "npm test", surprise: true }),
      "not json",
    ].join("\n"),
  );
  const document = {
    resourceSpans: [{ scopeSpans: [{ spans: [span("1", "write", { path: "docs/b.md", content: "x" })] }] }],
  };
  writeFileSync(join(folder, "old/spans.json"), JSON.stringify(document, undefined, 2));
  return { folder, host, haft };
}

test(
  "the policy judges imported calls as it judges the agent's hooks, and nothing of them runs or is recorded",
  { timeout: 180_000 },
  async () => {
    const { host, haft, folder } = await openHistory();
    const { count } = await host.store.audit.head();
    const run = async (...words: string[]) => {
      const { code, stdout } = await haft("policy", "backtest", ...words, "--history", "old", "--json");
      return { code, report: JSON.parse(stdout) };
    };
    const { report } = await run();
    expect(report).toMatchObject({ files: 2, calls: 7, unreadable: 1, judged: 7, before: { deny: 0 } });
    expect(report.after).toEqual(report.before);
    expect(report.before.ask).toBeGreaterThanOrEqual(5);
    expect(await run("Bash(npm test)", "--fail-on", "newly-allowed")).toMatchObject({
      code: 1,
      // Not the call with a parameter that Haft does not know.
      report: { newly: { allow: 1 }, tools: [{ tool: "exec", before: "ask", after: "allow", count: 1 }] },
    });
    expect((await run("Edit(docs/**)")).report.newly).toEqual({ allow: 2, ask: 0, deny: 0 });
    expect((await run("Edit(src/**)")).report).toMatchObject({
      newly: { allow: 1 },
      changed: [{ subject: { text: "src/a.ts" } }],
    });
    expect((await run("Bash", "--as", "deny")).report.newly.deny).toBe(2);
    expect((await host.store.audit.head()).count).toBe(count);
    expect(await host.haft.approvals.list("pending")).toEqual([]);
    const text = await haft("policy", "backtest", "--history", "old");
    expect(text.stdout).toContain("7 calls in 2 files. Nothing of them ran here.");
    expect(text.stdout).toContain("1 line or call cannot be read.");
    writeFileSync(join(folder, "empty.jsonl"), "{}\n");
    for (const path of ["nothere", "empty.jsonl"])
      expect((await haft("policy", "backtest", "--history", path)).code).toBe(2);
    expect((await haft("policy", "backtest")).code).toBe(2);
    expect((await haft("policy", "backtest", "--history", "old", "--tool", "exec")).code).toBe(2);
  },
);

test("imported calls rank proposals, and are no habit of a person", { timeout: 180_000 }, async () => {
  const { host, haft } = await openHistory();
  const list = async () => JSON.parse((await haft("policy", "suggest", "--history", "old", "--json")).stdout).items;
  expect(await list()).toEqual([]);
  const ask = async (path: string, session: string) => {
    const result = await host.haft.execute("write", { path, content: "x" }, { caller: { session, user: "ann" } });
    if (result.status === "pending") await haft("approvals", "approve", result.pending.id);
  };
  for (const at of [1, 2, 3, 4, 5, 6, 7, 8, 9]) await ask(`notes/page-${at}.md`, `s${at % 3}`);
  for (const at of [1, 2, 3, 4, 5, 6, 7, 8]) await ask(`docs/page-${at}.md`, `s${at % 3}`);
  await host.store.audit.flush();
  expect(await list()).toMatchObject([
    { rules: ["Write(./docs/*.md)"], saved: 8, imported: 2 },
    { rules: ["Write(./notes/*.md)"], saved: 9, imported: 0 },
  ]);
});

test("a line with very many calls is read", async () => {
  const folder = temporaryFolder("haft-import-");
  const part = (at: number): object => ({ type: "tool_use", id: `${at}`, name: "Bash", input: { command: "ls" } });
  const content = Array.from({ length: 200_000 }, (_, at) => part(at));
  writeFileSync(join(folder, "h.jsonl"), JSON.stringify({ type: "assistant", cwd: ROOT, message: { content } }));
  const { calls } = await readHistory("h.jsonl", folder, new AbortController().signal);
  expect(calls).toHaveLength(content.length);
});
