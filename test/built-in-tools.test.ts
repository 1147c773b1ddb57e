// Each built-in tool states its facts in its own file. `src/tools/built-in-tools.ts` has those that are needed before any
// tool exists.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAst } from "vitest/node";
import { createDirectClient } from "../src/api/direct-client.ts";
import { HostApi } from "../src/api/host-api.ts";
import { usesMcp } from "../src/cli/uses-mcp.ts";
import { contracts } from "../src/contracts/index.ts";
import { toCategory, ToolCategory } from "../src/core/category.ts";
import { createTool } from "../src/core/create-tool.ts";
import { createHaft } from "../src/runtime.ts";
import { BUILT_IN_TOOLS, type BuiltInTool } from "../src/tools/built-in-tools.ts";
import { createJsonStringifyTool } from "../src/tools/data/json-tools.ts";
import { ROOT } from "./architecture/read-entries.ts";

const TABLE = join(ROOT, "src", "tools", "built-in-tools.ts");
/** The table begins after this line. */
const START = "// npm run tools:update writes what follows.\n";
const updating = process.env["HAFT_UPDATE"] === "1";

type Node = Readonly<Record<string, unknown>> & { readonly type: string };

interface Facts {
  readonly zh?: { readonly title?: string; readonly short?: string };
  readonly sameAs?: { readonly opencode?: readonly string[]; readonly gemini?: readonly string[] };
}

interface StatedTool {
  readonly name: string;
  readonly category: string;
  readonly facts: Facts | undefined;
}

/** What every `createTool({ … })` of a source says. */
function readTools(source: string): StatedTool[] {
  return findCalls(parseAst(source, { lang: "ts" }), "createTool").flatMap((call) => {
    const [config] = call["arguments"] as Node[];
    if (config?.type !== "ObjectExpression") return [];
    const field = (name: string): unknown => {
      const value = valuesOf(config).get(name);
      return value && readLiteral(value);
    };
    const category = toCategory(String(field("category") ?? ToolCategory.CUSTOM));
    return [{ name: String(field("name")), category, facts: field("builtIn") as Facts | undefined }];
  });
}

function findCalls(value: unknown, name: string): Node[] {
  if (Array.isArray(value)) return value.flatMap((each) => findCalls(each, name));
  if (typeof value !== "object" || value === null) return [];
  const node = value as Node;
  const isCall = node.type === "CallExpression" && (node["callee"] as Node)["name"] === name;
  return [...(isCall ? [node] : []), ...Object.values(node).flatMap((each) => findCalls(each, name))];
}

function valuesOf(object: Node): Map<string, Node> {
  const properties = (object["properties"] as Node[]).filter(({ type }) => type === "Property");
  return new Map(properties.map((each) => [String((each["key"] as Node)["name"]), each["value"] as Node]));
}

function readLiteral(node: Node): unknown {
  if (node.type === "Literal") return node["value"];
  if (node.type === "ArrayExpression") return (node["elements"] as Node[]).map(readLiteral);
  if (node.type === "ObjectExpression") {
    return Object.fromEntries([...valuesOf(node)].map(([key, value]) => [key, readLiteral(value)]));
  }
  if (node.type === "MemberExpression" && (node["object"] as Node)["name"] === "ToolCategory") {
    return ToolCategory[(node["property"] as Node)["name"] as keyof typeof ToolCategory];
  }
  throw new Error("The name, the category and `builtIn` of a built-in tool must be literals.");
}

/** What is missing, each as a sentence that says what to add. */
function findMissing(path: string, { name, category, facts }: StatedTool): string[] {
  const add = (what: string) => `${path}: the tool "${name}" ${what}`;
  if (!facts) {
    const example = 'builtIn: { zh: { title: "…", short: "…" }, sameAs: { opencode: [], gemini: [] } }';
    return [add(`does not say that it is built in. Add to its createTool: ${example}`)];
  }
  const missing: string[] = [];
  if (!facts.zh?.title || !/\p{Script=Han}/u.test(facts.zh.short ?? "")) {
    missing.push(add("has no Chinese texts. Add to its builtIn: zh: { title, short }, which the console shows"));
  }
  for (const program of ["opencode", "gemini"] as const) {
    if (facts.sameAs?.[program]) continue;
    const what = `sameAs: { ${program}: […] } with the names of its tools that do the same, or [] if none does`;
    missing.push(add(`has no mapping for settings of ${program}. Add to its builtIn: ${what}`));
  }
  if (category === ToolCategory.CUSTOM || !Object.values<string>(ToolCategory).includes(category)) {
    missing.push(add("is in no group. Add a category of its family: category: ToolCategory.…"));
  }
  return missing;
}

/** What the table has of a tool. */
function toRow({ name, category, facts }: StatedTool): BuiltInTool {
  const { zh: _shown, ...rest } = facts ?? {};
  return { name, category, ...rest } as BuiltInTool;
}

const FILES = ["tools", "code"].flatMap((folder) =>
  readdirSync(join(ROOT, "src", folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/\.(test|suite|fixture)\.ts$/.test(name))
    .map((name) => `src/${folder}/${name.replaceAll("\\", "/")}`),
);
const TOOLS = FILES.flatMap((path) =>
  readTools(readFileSync(join(ROOT, path), "utf8")).map((tool) => ({ path, tool })),
).sort((left, right) => (left.tool.name < right.tool.name ? -1 : 1));

describe("the built-in tools", () => {
  if (updating) {
    test("are written down anew", () => {
      const rows = TOOLS.map(({ tool }) => `${JSON.stringify(toRow(tool))},\n`);
      const [head = "", table] = readFileSync(TABLE, "utf8").split(START);
      expect(table).toBeDefined();
      writeFileSync(
        TABLE,
        `${head}${START}export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [${rows.join("")}];\n`,
      );
    });
    return;
  }

  test("state their group, their Chinese texts and the tools of other programs that do the same", () => {
    expect(TOOLS.length).toBeGreaterThan(50);
    expect(TOOLS.flatMap(({ path, tool }) => findMissing(path, tool)).join("\n")).toBe("");
  });

  test("are in the table as they state it", () => {
    const rows = TOOLS.map(({ tool }) => toRow(tool));
    expect(BUILT_IN_TOOLS, "Run `npm run tools:update`, and commit src/tools/built-in-tools.ts.").toEqual(rows);
  });

  test("are asked for what one of them lacks", () => {
    const source = (facts: string) => `createTool({ name: "count", category: ToolCategory.DATA, ${facts} })`;
    const ask = (text: string) => readTools(text).flatMap((tool) => findMissing("a.ts", tool));
    const zh = 'zh: { title: "计数", short: "计数。" }';
    const sameAs = "sameAs: { opencode: [], gemini: [] }";
    expect(ask(source(`builtIn: { ${zh}, ${sameAs} }`))).toEqual([]);
    expect(ask(source(""))).toEqual([expect.stringContaining('"count" does not say that it is built in. Add')]);
    expect(ask(source(`builtIn: { ${sameAs} }`))).toEqual([expect.stringContaining("Add to its builtIn: zh:")]);
    expect(ask(source(`builtIn: { ${zh}, sameAs: { gemini: [] } }`))).toEqual([
      expect.stringContaining("has no mapping for settings of opencode. Add to its builtIn: sameAs:"),
    ]);
    expect(ask(`createTool({ name: "count", builtIn: { ${zh}, ${sameAs} } })`)).toEqual([
      expect.stringContaining("is in no group. Add a category"),
    ]);
  });

  test("are known to the command line: which may need MCP servers", () => {
    const names = ["cron", "run_code", "read_mcp_resource", "mcp__docs__find", "read", "toString"];
    expect(names.filter(usesMcp)).toEqual(names.slice(0, 4));
  });

  test("have their Chinese texts in the API, which other tools have not", async () => {
    const own = createTool({ name: "own", description: "Mine.", kind: "readonly", parameters: [], run: () => 1 });
    const haft = createHaft({ tools: [createJsonStringifyTool(), own] });
    const api = new HostApi({ haft });
    onTestFinished(() => (api.close(), haft.shutdown()));
    const identity = { id: "1", name: "ann", scopes: ["read"], kind: "token" } as const;
    const { tools } = createDirectClient(contracts, { identity, handlersOf: api.handlersOf });
    expect((await tools.get("json_stringify")).translations).toEqual({
      zh: { title: "写出 JSON", short: "把数据写成 JSON 文本。" },
    });
    expect((await tools.get("own")).translations).toBeUndefined();
  });
});
