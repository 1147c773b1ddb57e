import { expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { failureText } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createArtifactManager } from "./artifact-manager.ts";
import { MemoryArtifactStore } from "./artifact-store.ts";
import { createArtifactTools } from "./artifact-tools.ts";

function open(store = new MemoryArtifactStore()) {
  const manager = createArtifactManager({ store });
  const haft = createTestHaft({ tools: createArtifactTools(manager) });
  const call = (name: string, input: object, caller = { session: "s", agent: "lead", user: "ann" }) =>
    haft.execute(name, input, { caller });
  return { haft, manager, store, call };
}

function shown(result: ToolResult): string {
  return result.status === "failed" ? `${result.error.code}: ${failureText(result.error)}` : textOf(result.content);
}

test("a document is created, updated and rewritten, and every version can be read", async () => {
  const { call } = open();
  expect(await call("create_artifact", { id: "report", title: "Report", content: "# Tea\n\nGreen.\n" })).toMatchObject({
    status: "completed",
    details: { id: "report", title: "Report", contentType: "text/markdown", version: 1 },
  });
  const updated = await call("update_artifact", { id: "report", old_str: "Green.", new_str: "$& and `$1`" });
  expect(updated).toMatchObject({ details: { version: 2, type: "update", step: "exact", similarity: 1, line: 3 } });
  expect(shown(updated)).toContain("-Green.\n+$& and `$1`");
  await call(
    "rewrite_artifact",
    { id: "report", content: "# Coffee\n" },
    { session: "s", agent: "crawl", user: "bob" },
  );
  expect(shown(await call("read_artifact", { id: "report" }))).toBe('[artifact "report", version 3]\n# Coffee\n');
  expect(shown(await call("read_artifact", { id: "report", version: 2 }))).toBe(
    '[artifact "report", version 2 (the newest is 3)]\n# Tea\n\n$& and `$1`\n',
  );
  expect(await call("read_artifact", { id: "report", version: 1 })).toMatchObject({
    details: { type: "create", author: { agent: "lead", user: "ann" }, newest: 3 },
  });
});

test("versions have their type and author", async () => {
  const { call, manager, haft } = open();
  await call("create_artifact", { id: "doc", content: "The colour of the walls is grey." });
  const fuzzy = await call("update_artifact", {
    id: "doc",
    old_str: "The color of the walls is gray.",
    new_str: "All is white.",
  });
  expect(fuzzy).toMatchObject({ details: { step: "fuzzy", type: "update_fuzzy" } });
  expect(shown(fuzzy)).toMatch(/matched approximately: 9\d% similar to old_str/);
  await haft.execute("rewrite_artifact", { id: "doc", content: "new" }, { id: "c9", caller: { session: "s" } });
  expect(await manager.versions({ session: "s", id: "doc" })).toMatchObject([
    { version: 3, type: "rewrite", author: {}, callId: "c9", characters: 3 },
    { version: 2, type: "update_fuzzy", author: { agent: "lead" }, similarity: expect.closeTo(0.935, 2) },
    { version: 1, type: "create" },
  ]);
});

test("an ambiguous or unmatched update changes nothing and shows similar text", async () => {
  const { call } = open();
  const content = "one line\nanother line of tea\none line\n";
  await call("create_artifact", { id: "doc", content });
  expect(shown(await call("update_artifact", { id: "doc", old_str: "one line", new_str: "x" }))).toMatch(
    /^ambiguous: .*lines 1, 3/,
  );
  const near = await call("update_artifact", { id: "doc", old_str: "another lime of coffee", new_str: "x" });
  expect(shown(near)).toMatch(/^no_match: .*at line 2, is:\nanother line of/s);
  expect(shown(await call("update_artifact", { id: "doc", old_str: "zebra", new_str: "x" }))).toMatch(
    /nothing similar/,
  );
  expect(shown(await call("update_artifact", { id: "doc", old_str: "", new_str: "x" }))).toMatch(/^invalid_input/);
  expect(shown(await call("update_artifact", { id: "doc", old_str: "tea", new_str: "tea" }))).toMatch(/^no_change/);
  expect(shown(await call("rewrite_artifact", { id: "doc", content }))).toMatch(/^no_change/);
  expect(await call("read_artifact", { id: "doc" })).toMatchObject({ details: { version: 1, text: content } });
});

test("an expected version fails if there is a newer one", async () => {
  const { call } = open();
  await call("create_artifact", { id: "doc", content: "a b c" });
  await call("update_artifact", { id: "doc", old_str: "b", new_str: "B", expected_version: 1 });
  for (const [name, input] of [
    ["update_artifact", { old_str: "c", new_str: "C" }],
    ["rewrite_artifact", { content: "all" }],
  ] as const) {
    expect(shown(await call(name, { id: "doc", ...input, expected_version: 1 }))).toMatch(/^stale: .*now at version 2/);
  }
  expect(await call("rewrite_artifact", { id: "doc", content: "all", expected_version: 2 })).toMatchObject({
    details: { version: 3 },
  });
});

test("concurrent changes are all applied in sequence", async () => {
  const store = new MemoryArtifactStore();
  const [one, other] = [open(store), open(store)];
  const words = ["alpha", "beta", "gamma", "delta"];
  await one.call("create_artifact", { id: "doc", content: words.join(" ") });
  const results = await Promise.all(
    words.map((word, index) =>
      [one, other][index % 2]!.call("update_artifact", { id: "doc", old_str: word, new_str: word.toUpperCase() }),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "completed"]);
  expect(await one.call("read_artifact", { id: "doc" })).toMatchObject({
    details: { version: 5, text: "ALPHA BETA GAMMA DELTA" },
  });
});

test("sessions have their own documents; a subagent shares those of its parent", async () => {
  const { call, haft } = open();
  await call("create_artifact", { id: "doc", content: "mine" });
  expect(shown(await call("read_artifact", { id: "doc" }, { session: "t", agent: "lead", user: "ann" }))).toMatch(
    /^path_not_found: .*This session has none yet/,
  );
  const parent = { session: "s", agent: "lead", depth: 0 };
  const subagent = { session: "child", agent: "search", depth: 1, parent };
  expect(await haft.execute("read_artifact", { id: "doc" }, { caller: subagent })).toMatchObject({
    details: { text: "mine" },
  });
  expect(shown(await call("read_artifact", { id: "docs" }))).toContain('Did you mean: "doc"?');
  expect(shown(await call("read_artifact", { id: "doc", version: 2 }))).toMatch(/^bad_range: .*only version 1/);
  expect(shown(await call("create_artifact", { id: "doc", content: "again" }))).toMatch(/^path_exists/);
  expect(shown(await call("create_artifact", { id: "../doc", content: "" }))).toMatch(/^invalid_input/);
});

test("a long text is read page by page to its last character", async () => {
  const { call } = open();
  const text = `${Array.from({ length: 300 }, (_, i) => `line ${i + 1}`).join("\n")}\n${"茶😀".repeat(3_000)}`;
  await call("create_artifact", { id: "long", content: text });
  let read = "";
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const { details } = (await call("read_artifact", { id: "long", offset, limit: 1_000 })) as {
      details: { text: string; next?: number };
    };
    expect(details.text.length).toBeLessThanOrEqual(1_000);
    expect(details.text).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
    read += details.text;
    offset = details.next;
  }
  expect(read).toBe(text);
  const next = text.indexOf("line 252");
  const middle = await call("read_artifact", { id: "long", line: 250, limit: 20 });
  expect(shown(middle)).toBe(
    `[artifact "long", version 1, lines 250 to 251 of 301]\nline 250\nline 251\n\n[${text.length - next} more characters. Use offset=${next} to continue.]`,
  );
  expect(shown(await call("read_artifact", { id: "long", line: 302 }))).toMatch(/^bad_range: The text has 301 lines/);
  expect(shown(await call("read_artifact", { id: "long", offset: 99_999 }))).toMatch(/^bad_range/);
  expect(shown(await call("read_artifact", { id: "long", offset: 1, line: 1 }))).toMatch(/^invalid_input/);
});

test("documents are listed, the most recently changed first, and versions compared", async () => {
  const { call, haft } = open();
  expect(shown(await call("list_artifacts", {}))).toBe("This session has no artifacts.");
  for (const id of ["a", "b", "c"]) {
    await call("create_artifact", { id, title: `Title ${id}`, content: `${id}\nsame\n` });
    await haft.clock.advance(5);
  }
  await call("update_artifact", { id: "a", old_str: "a\n", new_str: "A\n" });
  expect(shown(await call("list_artifacts", { limit: 2 }))).toMatch(
    /^a: Title a, version 2.*\n.*\n\[more: offset 2\]$/,
  );
  expect(shown(await call("diff_artifact", { id: "a" }))).toMatch(
    /^Between versions 1 and 2 of "a":\n[^]*-a\n\+A\n same/,
  );
  expect(shown(await call("diff_artifact", { id: "a", from: 2, to: 1 }))).toMatch(/-A\n\+a/);
  expect(shown(await call("diff_artifact", { id: "b" }))).toMatch(/no difference between versions 1 and 1/);
  expect(shown(await call("diff_artifact", { id: "b", from: 7 }))).toMatch(/^bad_range/);
});

test("lines are found by pattern and by text, in any version", async () => {
  const { call } = open();
  await call("create_artifact", { id: "doc", content: "TODO one\nnothing\r\ntodo (two)\nTODO three\n" });
  await call("rewrite_artifact", { id: "doc", content: "done\n" });
  const search = (more: object) => call("grep_artifact", { id: "doc", version: 1, ...more });
  expect(shown(await search({ pattern: "^TODO" }))).toBe("1: TODO one\n4: TODO three");
  expect(shown(await search({ pattern: "todo", ignore_case: true, limit: 1 }))).toBe(
    "1: TODO one\n[2 more matching lines]",
  );
  expect(await search({ pattern: "(two)", fixed_strings: true })).toMatchObject({
    details: { total: 1, matches: [{ line: 3, text: "todo (two)" }] },
  });
  expect(shown(await call("grep_artifact", { id: "doc", pattern: "TODO" }))).toMatch(/^No line of "doc" \(version 2\)/);
  expect(shown(await search({ pattern: "(" }))).toMatch(/^bad_pattern: .*fixed_strings/);
});

test("a pattern that would take forever is stopped", async () => {
  const { haft, call } = open();
  await call("create_artifact", { id: "doc", content: `${"a".repeat(60)}!` });
  const input = { id: "doc", pattern: "^(a+)+$" };
  const controller = new AbortController();
  const started = new Promise<void>((resolve) => haft.on("tool_call_started", () => resolve()));
  const running = haft.execute("grep_artifact", input, { caller: { session: "s" }, signal: controller.signal });
  await started;
  setTimeout(() => controller.abort(), 30);
  expect(await running).toMatchObject({ status: "failed", error: { code: "cancelled" } });
});

test("a content that is too long is refused and not stored", async () => {
  const { manager } = open();
  const key = { session: "s", id: "huge" };
  await expect(manager.create({ ...key, content: "x".repeat(2_000_001) }, { author: {} })).rejects.toMatchObject({
    code: "too_large",
  });
  expect(await manager.list({ limit: 1 })).toEqual([]);
});

test("listeners are called for changes until they unsubscribe", async () => {
  const { manager, call } = open();
  const reported: string[] = [];
  const stop = manager.onChanged(({ id, version }) => reported.push(`${id} ${version}`));
  await call("create_artifact", { id: "doc", content: "a" });
  await call("rewrite_artifact", { id: "doc", content: "b" });
  stop();
  await call("rewrite_artifact", { id: "doc", content: "c" });
  expect(reported).toEqual(["doc 1", "doc 2"]);
});
