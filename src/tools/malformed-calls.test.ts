import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { type Call, toolOf } from "../core/call.ts";
import { textOf } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";
import type { SchemaSource } from "../schema/infer.ts";
import { openWorkspace } from "../workspace.ts";
import { createWebTools } from "./web/web-tools.ts";

const folder = temporaryFolder("haft-malformed-");
writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
mkdirSync(join(folder, "sub"));
const web = createWebTools({ fetch: () => Promise.reject(new Error("no network in this test")) });
afterAll(() => web.close());

const accepted: { tool: string; input: unknown }[] = [];
beforeEach(() => void accepted.splice(0));

function own(name: string, parameters: SchemaSource) {
  return createTool({ name, description: "", parameters, needsApproval: false, run: () => "done" });
}

const haft = createHaft({
  tools: [
    ...openWorkspace(folder).tools,
    ...web.tools,
    // The parameters of these have the names of wrappers, or differ from each other only in case.
    own("run_tool", z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()), dry: z.boolean() })),
    own("ask_model", z.object({ input: z.object({ text: z.string() }), text: z.string() })),
    own("label", z.object({ unit: z.enum(["Mb", "MB"]), Id: z.string().optional(), ID: z.string().optional() })),
  ],
  folder,
  middleware: [
    {
      name: "look",
      after: "validate",
      enter: (call: Call) => void accepted.push({ tool: toolOf(call).name, input: call.accepted }),
    },
  ],
});

const PATCH = "*** Begin Patch\n*** Update File: a.txt\n-two\n+2\n*** End Patch\n";

const CALLS: readonly [name: string, input: Record<string, unknown>][] = [
  ["read", { path: "a.txt", offset: 2 }],
  ["write", { path: "b.txt", content: 'a text, with ["brackets",] and "quotes"' }],
  ["edit", { path: "a.txt", old_string: "one", new_string: "1" }],
  ["apply_patch", { patch: PATCH }],
  ["grep", { pattern: "one", output_mode: "files_with_matches" }],
  ["glob", { pattern: "*.txt" }],
  ["list_files", { path: "sub" }],
  ["exec", { command: "ls", timeout: 5000 }],
  ["todo", { todos: [{ content: "a", status: "in_progress" }] }],
  ["web_fetch", { url: "https://a.example" }],
];

type Malform = (input: Record<string, unknown>, name: string) => unknown;

const WRAPPED: readonly [what: string, malform: Malform][] = [
  ["arguments", (input) => ({ arguments: input })],
  ["input", (input) => ({ input })],
  ["parameters", (input) => ({ parameters: input })],
  ["properties", (input) => ({ properties: input })],
  ["the tool's name", (input, name) => ({ [name]: input })],
  ["a call", (input, name) => ({ name, arguments: input })],
  ["a call with its arguments as text", (input, name) => ({ name, arguments: JSON.stringify(input) })],
  ["a list of one", (input) => [input]],
];

const renamed = (input: Record<string, unknown>, rename: (key: string) => string) =>
  Object.fromEntries(Object.entries(input).map(([key, value]) => [rename(key), value]));
const capital = (key: string) => key[0]!.toUpperCase() + key.slice(1);
const pascal = (key: string) => key.split("_").map(capital).join("");
const text = (input: unknown) => JSON.stringify(input);

/** Calls that have one reading, made from right ones: 125, of twelve tools. */
const REPAIRABLE: [what: string, name: string, malformed: unknown, input: Record<string, unknown>][] = [
  ...CALLS.flatMap(([name, input]) => [
    ...WRAPPED.map(([what, malform]) => [what, name, malform(input, name), input] as const),
    ["keys with a capital", name, renamed(input, capital), input] as const,
    ["keys in Pascal case", name, renamed(input, pascal), input] as const,
    ["keys in capitals", name, renamed(input, (key) => key.toUpperCase()), input] as const,
    ["a trailing comma", name, `${text(input).slice(0, -1)}, }`, input] as const,
  ]),
  ["a value in capitals", "grep", { pattern: "x", output_mode: "CONTENT" }, { pattern: "x", output_mode: "content" }],
  [
    "a value in capitals",
    "edit_notebook",
    { path: "a.ipynb", cell: 1, mode: "Delete" },
    { path: "a.ipynb", cell: 1, mode: "delete" },
  ],
  [
    "a value in capitals",
    "todo",
    { todos: [{ content: "a", status: "PENDING" }] },
    { todos: [{ content: "a", status: "pending" }] },
  ],
  [
    "a value with a hyphen",
    "todo",
    { todos: [{ content: "a", status: "in-progress" }] },
    { todos: [{ content: "a", status: "in_progress" }] },
  ],
  ["a value in capitals", "process", { action: "LIST" }, { action: "list" }],
].map((each) => [...each] as [string, string, unknown, Record<string, unknown>]);

describe("a malformed call that has one reading is repaired with a note", () => {
  test.each(REPAIRABLE)("%s: %s %j", async (_what, name, malformed, input) => {
    const result = await haft.execute(name, malformed);
    expect(accepted).toEqual([{ tool: name, input }]);
    expect(result.metadata.repairs?.length).toBeGreaterThan(0);
  });

  test.each<[what: string, name: string, malformed: unknown, input: object]>([
    ["wrappers in each other", "read", [{ name: "read", arguments: { input: { path: "a.txt" } } }], { path: "a.txt" }],
    [
      "a call of a provider",
      "read",
      { type: "tool_use", id: "1", name: "read", input: { path: "a.txt" } },
      { path: "a.txt" },
    ],
    ["the schema", "read", { type: "object", properties: { path: "a.txt" } }, { path: "a.txt" }],
    ["a foreign name of the tool", "Read", { Read: { file_path: "a.txt" } }, { path: "a.txt" }],
    [
      "a wrapper, then a number as text",
      "read",
      { arguments: { path: "a.txt", offset: "2" } },
      { path: "a.txt", offset: 2 },
    ],
    ["a wrapper in another case", "read", { Arguments: { path: "a.txt" } }, { path: "a.txt" }],
    ["a tool's input", "read", { tool_input: { path: "a.txt" } }, { path: "a.txt" }],
    ["a call that names its tool otherwise", "read", { tool: "read", args: { path: "a.txt" } }, { path: "a.txt" }],
    [
      "a call as providers send it",
      "read",
      { id: "c", type: "function", function: { name: "read", arguments: '{"path":"a.txt"}' } },
      { path: "a.txt" },
    ],
    ["a key with a space", "read", { "path ": "a.txt" }, { path: "a.txt" }],
    ["a value in quotes", "grep", { pattern: "x", output_mode: '"Count"' }, { pattern: "x", output_mode: "count" }],
    ["a comma at the end", "read", '{"path": "a.txt"},', { path: "a.txt" }],
    ["a code block", "read", '```json\n{"path": "a.txt"}\n```', { path: "a.txt" }],
    [
      "one item for a list, as text",
      "todo",
      { todos: '{"content":"a","status":"pending"}' },
      { todos: [{ content: "a", status: "pending" }] },
    ],
    ["a wrapper, then a key", "read", { arguments: { Path: "a.txt" } }, { path: "a.txt" }],
    ["a key, then a value", "grep", { Pattern: "x", OutputMode: "Count" }, { pattern: "x", output_mode: "count" }],
    ["the case of an alias", "read", { FilePath: "a.txt" }, { path: "a.txt" }],
    [
      "keys in a list",
      "edit",
      { path: "a.txt", edits: [{ Old_String: "one", New_String: "1" }] },
      { path: "a.txt", edits: [{ old_string: "one", new_string: "1" }] },
    ],
    [
      "trailing commas at every depth",
      "todo",
      '{"todos":[{"content":"a,]","status":"pending",},],}',
      { todos: [{ content: "a,]", status: "pending" }] },
    ],
  ])("%s: %s %j", async (_what, name, malformed, input) => {
    const result = await haft.execute(name, malformed);
    expect(accepted).toMatchObject([{ input }]);
    expect(result.metadata.repairs?.length).toBeGreaterThan(0);
  });

  test("what a person approves is the repaired input", async () => {
    const asked = await haft.execute("write", { arguments: { Path: "c.txt", content: "new" } });
    expect(asked).toMatchObject({
      status: "pending",
      metadata: { repairs: ["arguments: read as the input itself", 'Path: read as "path"'] },
    });
    const pending = (await haft.approvals.list()).find(({ callId }) => callId === asked.callId);
    expect(pending).toMatchObject({ toolName: "write", input: { path: "c.txt", content: "new" } });
  });

  test("a rule that denies the repaired input denies the call", async () => {
    const strict = createHaft({ tools: openWorkspace(folder).tools, folder, rules: { deny: ["read(a.txt)"] } });
    for (const input of [{ arguments: { path: "a.txt" } }, { PATH: "a.txt" }, [{ path: "a.txt" }]]) {
      expect(await strict.execute("read", input)).toMatchObject({ status: "failed", error: { code: "denied" } });
    }
  });
});

describe("a malformed call that has no reading, or two, stays refused", () => {
  test.each<[what: string, name: string, malformed: unknown]>([
    ["two wrappers", "read", { arguments: { path: "a.txt" }, input: { path: "b.txt" } }],
    ["a wrapper beside a parameter", "write", { path: "a.txt", arguments: { content: "x" } }],
    ["a wrapper beside an id that may be meant", "read", { id: "7", arguments: { path: "a.txt" } }],
    ["the name of another tool", "read", { name: "write", arguments: { path: "a.txt" } }],
    ["another tool in a call of a provider", "read", { function: { name: "write", arguments: { path: "a.txt" } } }],
    ["two names", "read", { name: "read", tool: "write", arguments: { path: "a.txt" } }],
    ["another tool as the key", "read", { write: { path: "a.txt" } }],
    ["an unknown wrapper", "read", { payload: { path: "a.txt" } }],
    ["a wrapper with an unknown parameter in it", "read", { arguments: { path: "a.txt", lines: 5 } }],
    ["a wrapper with a wrong value in it", "read", { arguments: { path: 5 } }],
    ["a wrapper with broken JSON in it", "read", { arguments: '{"path": "a.txt"' }],
    ["a wrapper with a key twice in it", "read", { arguments: '{"path": "a.txt", "path": "b.txt"}' }],
    ["a wrapper with text in it", "read", { arguments: "a.txt" }],
    ["more wrappers than anybody sends", "read", { args: { args: { args: { args: { path: "a.txt" } } } } }],
    ["a list of two", "read", [{ path: "a.txt" }, { path: "b.txt" }]],
    ["a list in a list", "read", [[{ path: "a.txt" }]]],
    [
      "wrappers that are parameters",
      "run_tool",
      { name: "run_tool", arguments: { name: "a", arguments: {}, dry: true } },
    ],
    ["a wrapper that is a parameter", "ask_model", { input: { input: { text: "a" }, text: "b" } }],
    ["a wrapper that is a parameter in another case", "ask_model", { Input: { input: { text: "a" }, text: "b" } }],
    ["a key beside the declared one", "read", { path: "a.txt", Path: "b.txt" }],
    ["a key twice, in two cases", "read", { Path: "a.txt", PATH: "b.txt" }],
    ["a key that two declared ones fit", "label", { unit: "Mb", id: "a" }],
    ["a value that two declared ones fit", "label", { unit: "mb" }],
    ["a key with letters missing", "read", { pth: "a.txt" }],
    ["a value with letters missing", "grep", { pattern: "x", output_mode: "file_with_match" }],
    ["one wrong key beside one in another case", "read", { Path: "a.txt", lines: 5 }],
    ["an unknown parameter", "edit", { path: "a.txt", old_string: "one", new_string: "1", backup: true }],
    ["a comma without a value", "read", '{"path": "a.txt", , }'],
    ["a comma and nothing else", "read", "{,}"],
    ["two commas at the end", "read", '{"path": "a.txt",,}'],
    ["a comma after a colon", "read", '{"path":,}'],
    ["a text that breaks off", "read", '{"path": "a.txt",'],
    ["a key twice, with a trailing comma", "read", '{"path": "a.txt", "path": "b.txt",}'],
    ["a list as a text with commas", "read_many", { paths: "a.txt, b.txt" }],
  ])("%s: %s %j", async (_what, name, malformed) => {
    expect(await haft.execute(name, malformed)).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    expect(accepted).toEqual([]);
  });

  test("the message names what is wrong inside the wrapper, and the wrapper", async () => {
    const { content } = await haft.execute("read", { arguments: { pth: "a.txt" } });
    const said = textOf(content);
    expect(said).toContain('pth: unknown parameter. Did you mean "path"?');
    expect(said).toContain("without anything around them");
  });

  test("an open schema takes what looks like a wrapper as it is", async () => {
    const open = createHaft({ tools: [own("any", { type: "object", additionalProperties: true } as SchemaSource)] });
    const result = await open.execute("any", { arguments: { a: 1 } });
    expect(result).toMatchObject({ status: "completed" });
    expect(result.metadata.repairs).toBeUndefined();
  });
});
