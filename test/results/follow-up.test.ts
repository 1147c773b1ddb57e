import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { textOf } from "../../src/core/content.ts";
import { createTool } from "../../src/core/create-tool.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { estimatedTokens } from "../../src/core/results/estimated-tokens.ts";
import { createHaft, type Haft } from "../../src/runtime.ts";
import {
  createArtifactManager,
  createArtifactTools,
  createGuardedNet,
  createWebTools,
  openWorkspace,
} from "../../src/workspace.ts";
import { startServer } from "../setup/local-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// Every shortened result says how to go on. A model that does what it says must see everything.

const rows = (count: number) => Array.from({ length: count }, (_, i) => `row-${i}-${(i * 7919) % 104_729}`);
const LINES = rows(9000).join("\n");
const ONE_LINE = rows(9000).join(";");
const CHINESE = Array.from({ length: 9000 }, (_, i) => `第${i}行的内容`).join("，");
const JSON_LINE = JSON.stringify({ total: 4000, items: rows(4000).map((name, id) => ({ id, name })) });
const BASE64 = Buffer.from(rows(6000).join("")).toString("base64");
const NUL = rows(9000)
  .map((row) => `a\0${row}`)
  .join("\n");
const TEXTS = { LINES, ONE_LINE, CHINESE, JSON_LINE, BASE64 };
const PROTEIN = rows(1500)
  .map((row) =>
    Array.from(createHash("sha512").update(row).digest(), (byte) => "ACDEFGHIKLMNPQRSTVWY"[byte % 20]).join(""),
  )
  .join("\n");
const PRINTED = { ...TEXTS, NUL, PROTEIN };

interface NextCall {
  name: string;
  input: Record<string, unknown>;
}

/** The calls that a text names: another call, or the same with changed parameters. */
function nextCalls(text: string, made: NextCall): NextCall[] {
  const calls: NextCall[] = [];
  for (const [, name, json] of text.matchAll(/Continue with ([\w.-]+) (\{[^\n]*?\})(?=[.,;\]]| or )/g)) {
    calls.push({ name: name!, input: JSON.parse(json!) as NextCall["input"] });
  }
  for (const [, changes] of text.matchAll(/Use ((?:\w+=[\w-]+(?:, )?)+) to continue\./g)) {
    const changed = changes!.split(", ").map((change) => {
      const [name, value] = change.split("=") as [string, string];
      return [name, /^\d+$/.test(value) ? Number(value) : value] as const;
    });
    const { column: _, ...input } = made.input;
    calls.push({ name: made.name, input: { ...input, ...Object.fromEntries(changed) } });
  }
  return calls;
}

/** NUL is shown as another character, or not at all. */
const INVISIBLE = /[\s\0␀]/g;

/** Follows every instruction, and returns the parts of `original` that no result has shown. */
async function findUnseen(haft: Haft, first: NextCall, original: string): Promise<string> {
  const caller = { session: "follower" };
  const bare = original.replace(INVISIBLE, "");
  const seen = new Uint8Array(bare.length);
  const made = new Set<string>();
  const waiting = [first];
  let end = 0;
  for (let call = waiting.shift(); call; call = waiting.shift()) {
    const key = JSON.stringify(call);
    if (made.has(key)) continue;
    made.add(key);
    expect(made.size, "calls").toBeLessThan(60);
    const result: ToolResult = await haft.execute(call.name, call.input, { caller });
    expect(result, `${call.name} ${JSON.stringify(call.input)}`).toMatchObject({ status: "completed" });
    const text = textOf(result.content);
    expect(estimatedTokens.count(text), "tokens").toBeLessThan(15_000);
    waiting.push(...nextCalls(text, call));
    for (const line of text.split("\n")) {
      const piece = line
        .replace(/^\d+\t/, "")
        .replace(/^[\w.]+:\d+: /, "")
        .replace(INVISIBLE, "");
      if (piece === "") continue;
      // Mostly the next line; closing brackets occur at the end.
      const next = bare.startsWith(piece, end) ? end : bare.indexOf(piece);
      for (const at of piece.length > 2 ? [next] : [next, bare.lastIndexOf(piece)]) {
        if (at < 0) continue;
        seen.fill(1, at, at + piece.length);
        end = at + piece.length;
      }
    }
  }
  const from = seen.indexOf(0);
  return from < 0 ? "" : bare.slice(from, from + 80);
}

function stage(options: { folder?: boolean; files?: Record<string, string> } = {}) {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(PRINTED)) writeFileSync(join(folder, `${name}.txt`), text);
  for (const [path, text] of Object.entries(options.files ?? {})) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const print = createTool({
    name: "print",
    description: "Prints a text",
    kind: "readonly",
    parameters: [{ name: "which", type: "string" }],
    run: ({ which }: { which: keyof typeof PRINTED }) => PRINTED[which],
  });
  const workspace = options.folder === false ? undefined : openWorkspace(folder, { sandbox: false });
  return createHaft({ workspace, tools: [print], rules: { allow: ["exec"] } });
}

describe.each(Object.keys(TEXTS) as (keyof typeof TEXTS)[])("all of %s is seen", (which) => {
  test("of an own tool, with a workspace", async () => {
    expect(await findUnseen(stage(), { name: "print", input: { which } }, TEXTS[which])).toBe("");
  });

  test("of an own tool, without a workspace", async () => {
    const haft = stage({ folder: false });
    expect(haft.tools.list().map(({ name }) => name)).toEqual(["print"]);
    expect(await findUnseen(haft, { name: "print", input: { which } }, TEXTS[which])).toBe("");
    expect(haft.tools.list().map(({ name }) => name)).toContain("read_result");
  });

  test("of a file", async () => {
    const first = { name: "read", input: { path: `${which}.txt` } };
    expect(await findUnseen(stage(), first, TEXTS[which])).toBe("");
  });

  test("of a file, by bytes", async () => {
    const haft = stage();
    let call: NextCall | undefined = { name: "read", input: { path: `${which}.txt`, bytes: "0-" } };
    let seen = "";
    while (call) {
      const result: ToolResult = await haft.execute(call.name, call.input);
      seen += (result.details as { content: string }).content;
      call = nextCalls(textOf(result.content), call)[0];
    }
    expect(seen).toBe(TEXTS[which]);
  });

  test("of a command", async () => {
    const first = { name: "exec", input: { command: `cat ${which}.txt` } };
    expect(await findUnseen(stage(), first, TEXTS[which])).toBe("");
  });
});

test.each([
  { name: "Read", input: { file_path: "ONE_LINE.txt" }, next: "Use offset=1, column=2001 to continue." },
  { name: "Bash", input: { command: "cat ONE_LINE.txt" }, next: 'Continue with Read {"file_path":"spill:' },
  { name: "run_shell_command", input: { command: "cat ONE_LINE.txt" }, next: 'read_file {"file_path":"spill:' },
  { name: "exec_command", input: { cmd: "cat ONE_LINE.txt" }, next: 'read_file {"file_path":"spill:' },
  {
    name: "read_file",
    input: { file_path: "ONE_LINE.txt", start_line: 1 },
    next: "Use start_line=1, column=2001 to continue.",
  },
  { name: "read_file", input: { file_path: "ONE_LINE.txt", limit: 1 }, next: "Use offset=1, column=2001 to continue." },
])("the names of a dialect are used and accepted: $name", async ({ next, ...first }) => {
  const haft = stage();
  expect(await findUnseen(haft, first, ONE_LINE)).toBe("");
  const { content } = await haft.execute(first.name, first.input, { caller: { session: "other" } });
  expect(textOf(content)).toContain(next);
});

test.each([
  { name: "print", input: { which: "NUL" } },
  { name: "exec", input: { command: "cat NUL.txt" } },
])("all of an output with NUL is seen, and searched: $name", async (first) => {
  const haft = stage();
  const caller = { session: "follower" };
  expect(await findUnseen(haft, first, NUL)).toBe("");
  const { content } = await haft.execute(first.name, first.input, { caller });
  const path = /spill:[\w-]+/.exec(textOf(content))?.[0];
  const found = await haft.execute("grep", { path, pattern: "row-4500-" }, { caller });
  expect(textOf(found.content)).toContain(`a␀${rows(4501)[4500]}`);
});

test("all of an output that has many tokens is seen: it is cut once", async () => {
  const haft = stage();
  expect(haft.settings.tokens.count(PROTEIN)).toBeGreaterThan(30_000);
  expect(await findUnseen(haft, { name: "exec", input: { command: "cat PROTEIN.txt" } }, PROTEIN)).toBe("");
});

test("all cells of a notebook are seen", async () => {
  const sources = rows(3000).map((row, i) => `${row} = ${i}`);
  const cells = Array.from({ length: 300 }, (_, i) => ({
    cell_type: "code",
    source: sources.slice(i * 10, i * 10 + 10).join("\n"),
  }));
  const haft = stage({ files: { "n.ipynb": JSON.stringify({ cells }) } });
  expect(await findUnseen(haft, { name: "read", input: { path: "n.ipynb" } }, sources.join("\n"))).toBe("");
});

test("all entries of a folder are seen", async () => {
  const names = rows(3000).sort();
  const haft = stage({ files: Object.fromEntries(names.map((name) => [`many/${name}`, ""])) });
  expect(await findUnseen(haft, { name: "read", input: { path: "many", limit: 10_000 } }, names.join("\n"))).toBe("");
});

test("only JSON is offered for a query", async () => {
  const texts = { LOG: rows(9000).map((row) => `[INFO] ${row}`), NDJSON: rows(9000).map((row) => `{"row":"${row}"}`) };
  for (const lines of Object.values(texts)) {
    const print = createTool({
      name: "log",
      description: "Prints",
      kind: "readonly",
      parameters: [],
      run: () => lines.join("\n"),
    });
    const haft = createHaft({ workspace: openWorkspace(temporaryFolder(), { sandbox: false }), tools: [print] });
    const shown = textOf((await haft.execute("log", {})).content);
    expect(shown).toContain("Continue with read");
    expect(shown).not.toContain("query this JSON");
  }
});

test("a query does not change numbers", async () => {
  const haft = stage({ files: { "ids.json": '{"id":12345678901234567890}' } });
  const { content } = await haft.execute("json_parse", { path: "ids.json", query: "id" });
  expect(textOf(content)).toBe("12345678901234567890");
});

test("all matching lines of grep are seen", async () => {
  const first = { name: "grep", input: { pattern: "row", path: "LINES.txt", limit: 1000 } };
  expect(await findUnseen(stage(), first, LINES)).toBe("");
});

test("a range of lines is continued in the names of Gemini", async () => {
  const first = { name: "read_file", input: { file_path: "LINES.txt", start_line: 1, end_line: 9000 } };
  expect(await findUnseen(stage(), first, LINES)).toBe("");
  const shell = await stage().execute("run_shell_command", { command: "cat LINES.txt" });
  expect(textOf(shell.content)).toMatch(/Continue with read_file \{"file_path":"spill:[\w-]+","start_line":\d+\}/);
});

test.each([
  {
    name: "grep_search",
    input: { pattern: "row", dir_path: "LINES.txt", total_max_matches: 1000 },
    more: "total_max_matches",
  },
  { name: "Grep", input: { pattern: "row", path: "LINES.txt", head_limit: 1000 }, more: "head_limit" },
])("all matching lines are seen with $name", async ({ more, ...first }) => {
  const haft = stage();
  const { content } = await haft.execute(first.name, first.input);
  expect(textOf(content).split("\n").at(-1)).toMatch(new RegExp(`or raise ${more}\\. Use offset=\\d+ to continue`));
  expect(await findUnseen(haft, first, LINES)).toBe("");
});

test("a search of files is continued in the names of Codex", async () => {
  const haft = stage();
  const first = await haft.execute("grep_files", { pattern: "row", limit: 1 });
  expect(textOf(first.content)).toContain("Use offset=1 to continue.");
  const next = await haft.execute("grep_files", { pattern: "row", limit: 1, offset: 1 });
  expect(next).toMatchObject({ status: "completed", details: { files: [expect.stringMatching(/\.txt$/)] } });
  expect(next.details).not.toEqual(first.details);
});

test("all of a background process is seen, also of a long line", async () => {
  const haft = stage();
  const caller = { session: "follower" };
  for (const which of ["LINES", "ONE_LINE"] as const) {
    const started = await haft.execute("exec", { command: `cat ${which}.txt; sleep 60`, yield_ms: 500 }, { caller });
    const { processId: id } = started.details as { processId: string };
    expect(textOf(started.content)).toContain('Continue with process {"action":"log"');
    const log = { name: "process", input: { action: "log", id, offset: 1, limit: 2000 } };
    expect(await findUnseen(haft, log, TEXTS[which])).toBe("");
    await haft.execute("process", { action: "remove", id }, { caller });
  }
});

test.each(["LINES", "ONE_LINE", "CHINESE", "BASE64"] as const)("all of a web page with %s is seen", async (which) => {
  const server = await startServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(TEXTS[which]);
  });
  const net = createGuardedNet({ exceptions: [`127.0.0.1:${server.port}`] });
  const haft = createHaft({ tools: createWebTools({ fetch: net.fetch }).tools });
  let call: NextCall | undefined = { name: "web_fetch", input: { url: server.origin } };
  let seen = "";
  while (call) {
    const result: ToolResult = await haft.execute(call.name, call.input);
    expect(estimatedTokens.count(textOf(result.content))).toBeLessThan(12_500);
    seen += (result.details as { pages: { content: string }[] }).pages[0]!.content;
    call = nextCalls(textOf(result.content), call)[0];
  }
  expect(seen).toBe(TEXTS[which]);
  await haft.shutdown();
  await net.close();
});

test("all of an artifact is seen", async () => {
  const haft = createHaft({ tools: createArtifactTools(createArtifactManager()) });
  const caller = { session: "follower" };
  await haft.execute("create_artifact", { id: "long", title: "Long", content: LINES }, { caller });
  expect(await findUnseen(haft, { name: "read_artifact", input: { id: "long" } }, LINES)).toBe("");
});

test("JSON is queried at the address that the result names", async () => {
  for (const haft of [stage(), stage({ folder: false })]) {
    const caller = { session: "follower" };
    const result = await haft.execute("print", { which: "JSON_LINE" }, { caller });
    const [, tool, json] = /query this JSON with (\w+) (\{.*?\})\./.exec(textOf(result.content)) ?? [];
    const address = result.metadata.spill!.ref;
    const [name, input] =
      tool === undefined ? ["read_result", { path: address, query: "total" }] : [tool, JSON.parse(json!)];
    expect(textOf((await haft.execute(name, input, { caller })).content)).toContain("4000");
    const part = await haft.execute(name, { path: address, query: "items[10:12].name" }, { caller });
    expect(JSON.parse(textOf(part.content))).toEqual(rows(12).slice(10));
    expect(
      await haft.execute(name, { path: address, query: "items[0]" }, { caller: { session: "other" } }),
    ).toMatchObject({
      error: { code: "path_not_found" },
    });
  }
});
