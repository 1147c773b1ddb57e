// The blocks of the design documents that are not TypeScript. The program of an entry gets the text as printed (`BLOCK`), and for
// Python the names that it defines (`NAMES`). Each name must exist in `haft/compat` as printed and in camelCase.

/** What all programs of Python blocks import. Written beside the blocks. */
export const PYTHON_NAMES = `
  import { expect } from "vitest";
  import * as compat from "haft/compat";
  type Name = { owner?: string; name: string; value?: string };
  const camelCase = (name: string) => name.replace(/^__(\\w+)__$/, "$1").replace(/(?<=[a-z])_([a-z])/g, (_, letter) => letter.toUpperCase());
  const has = (holder: object | undefined, name: string, of: string) =>
    expect(holder !== undefined && name in holder, of + "." + name).toBe(true);
  /** \`made\`: an object of each class, or two if the names in camelCase are on another one. */
  export function checkNames(names: readonly Name[], made: Record<string, object | [object, object]>) {
    expect(names.length).toBeGreaterThan(0);
    for (const { owner, name, value } of names) {
      if (owner === undefined && name in made) continue;
      const given = owner === undefined ? compat : made[owner];
      const [printed, inCamelCase] = Array.isArray(given) ? given : [given, given];
      has(printed, name, owner ?? "haft/compat");
      has(inCamelCase, camelCase(name), owner ?? "haft/compat");
      if (value !== undefined) expect((printed as Record<string, unknown>)[name]).toBe(value);
    }
  }`;

const CALL =
  '"<tool_call><name>web_search</name><params><query><![CDATA[tea]]></query><max_results><![CDATA[10]]></max_results></params></tool_call>"';
const SEARCH = `
  class WebSearchTool extends BaseTool {
    constructor() {
      super({ name: "web_search", description: "搜索互联网获取信息", permission: ToolPermission.AUTO });
    }
    get_parameters() {
      return [
        new ToolParameter({ name: "query", type: "string", description: "搜索查询词", required: true }),
        new ToolParameter({ name: "max_results", type: "integer", description: "最大结果数量", required: false, default: 10 }),
      ];
    }
    async execute({ query, max_results }: { query: string; max_results: number }) {
      if (query === "none") return new ToolResult({ success: false, error: "no results" });
      return new ToolResult({ success: true, data: [query, max_results] });
    }
  }`;
const IMPORT_SEARCH = 'import { BaseTool, ToolParameter, ToolPermission, ToolResult } from "haft/compat";';

export const OTHER_BLOCKS = [
  {
    document: "000",
    language: "yaml",
    block: 1,
    heading: "配置",
    after: `
      import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"; import { tmpdir } from "node:os"; import { join } from "node:path";
      import { openHaft, trust } from "haft/host"; import { expect } from "vitest"; import { parse } from "yaml";
      export async function check() {
        const root = mkdtempSync(join(tmpdir(), "haft-seeds-"));
        const [home, folder] = [join(root, "home"), join(root, "work")];
        const { timeout, maxConcurrent, allowedPaths, webSearch, mcpServers } = parse(BLOCK).tools;
        for (const path of [home, folder, ...[...allowedPaths, "other"].map((each: string) => join(folder, each))]) mkdirSync(path);
        for (const path of [...allowedPaths, "other"]) writeFileSync(join(folder, path, "a.txt"), "a");
        writeFileSync(join(folder, "haft.config.yml"), BLOCK);
        await trust(folder, { home, env: {} });
        const host = await openHaft(folder, { home, env: { WEB_SEARCH_API_KEY: "key-1" } });
        try {
          const search = { ...webSearch, apiKey: "key-1" };
          expect(host.config.value.tools).toMatchObject({ timeout, maxConcurrent, webSearch: search });
          for (const path of allowedPaths) {
            expect(await host.haft.execute("read_file", { path: path + "/a.txt" })).toMatchObject({ success: true });
          }
          const refused = await host.haft.execute("read_file", { path: "other/a.txt" });
          expect(refused).toMatchObject({ error: { code: "path_denied" } });
          await host.mcp.settled();
          const states = host.mcp.status().map(({ name, state }) => [name, state === "stopped"]);
          expect(states).toEqual(mcpServers.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, !enabled]));
        } finally {
          await host.close();
        }
      }`,
  },
  {
    document: "003",
    language: "json5",
    block: 1,
    heading: "4.2 工具策略配置",
    after: `
      import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"; import { tmpdir } from "node:os"; import { join } from "node:path";
      import { openHaft } from "haft/host"; import { expect } from "vitest";
      export async function check() {
        const root = mkdtempSync(join(tmpdir(), "haft-seeds-"));
        for (const name of ["home", "work"]) mkdirSync(join(root, name));
        writeFileSync(join(root, "work", "haft.config.json5"), BLOCK);
        const host = await openHaft(join(root, "work"), { home: join(root, "home"), env: {} });
        try {
          const names = host.haft.tools.definitions().map(({ name }) => name);
          expect(names).toEqual(expect.arrayContaining(["read", "write", "edit", "process"]));
          for (const name of ["exec", "web_search", "message"]) expect(names).not.toContain(name);
          expect(await host.haft.execute("exec", { command: "true" })).toMatchObject({ error: { code: "denied" } });
        } finally {
          await host.close();
        }
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 1,
    heading: "ToolPermission",
    after: `import { ToolPermission } from "haft/compat";
      export const check = () => checkNames(NAMES, { ToolPermission });`,
  },
  {
    document: "004",
    language: "python",
    block: 2,
    heading: "ToolParameter",
    after: `import { expect } from "vitest"; import { ToolParameter } from "haft/compat";
      export function check() {
        const made = new ToolParameter({ name: "query", type: "string", description: "What" });
        checkNames(NAMES, { ToolParameter: made });
        expect(made).toMatchObject({ required: true });
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 3,
    heading: "ToolResult",
    after: `import { expect } from "vitest"; import { ToolResult } from "haft/compat";
      export function check() {
        const made = new ToolResult({ success: true, data: [1] });
        checkNames(NAMES, { ToolResult: made });
        expect(made.to_dict()).toEqual({ success: true, data: [1], error: null, metadata: {} });
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 4,
    heading: "定义工具",
    after: `import { expect } from "vitest"; ${IMPORT_SEARCH} ${SEARCH}
      export async function check() {
        const tool = new WebSearchTool();
        checkNames(NAMES, { BaseTool: tool });
        expect(tool.validate_params({ query: "tea" }) ?? null).toBeNull();
        expect(tool.validate_params({})).toContain("query");
        expect(tool.validate_params({ query: "tea", wrong: 1 })).toContain("wrong");
        expect(await tool.__call__({ query: "tea" })).toMatchObject({ success: true, data: ["tea", 10] });
        expect(await tool.__call__({})).toMatchObject({ success: false });
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 5,
    heading: "示例：WebSearchTool",
    after: `import { expect } from "vitest"; ${IMPORT_SEARCH} ${SEARCH}
      export async function check() {
        const tool = new WebSearchTool();
        checkNames(NAMES.filter(({ name }) => !name.startsWith("_")), { WebSearchTool: tool });
        for (const { name, type, description } of tool.get_parameters()) {
          for (const text of [name, type, description]) expect(BLOCK).toContain('"' + text + '"');
        }
        expect(await tool.call({ query: "none" })).toMatchObject({ success: false, error: "no results" });
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 6,
    heading: "ToolRegistry",
    after: `import { expect } from "vitest"; import { ToolRegistry } from "haft/compat"; ${IMPORT_SEARCH} ${SEARCH}
      export function check() {
        const registry = new ToolRegistry();
        checkNames(NAMES, { ToolRegistry: registry });
        registry.register_tool_to_library(new WebSearchTool());
        const toolkit = registry.create_agent_toolkit("lead", ["web_search", "nothing"]);
        expect(Object.keys(toolkit.tools)).toEqual(["web_search"]);
        expect(registry.get_agent_toolkit("lead")).toBe(toolkit);
        expect(registry.get_agent_toolkit("nobody")).toBeUndefined();
        expect("web_search" in registry.tool_library).toBe(true);
        expect(registry.agent_toolkits["lead"]).toBe(toolkit);
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 7,
    heading: "AgentToolkit",
    after: `import { expect } from "vitest"; import { AgentToolkit } from "haft/compat"; ${IMPORT_SEARCH} ${SEARCH}
      export async function check() {
        const toolkit = new AgentToolkit("lead");
        checkNames(NAMES, { AgentToolkit: toolkit });
        toolkit.add_tools([new WebSearchTool()]);
        expect(toolkit.list_tools()).toEqual([toolkit.get_tool("web_search")]);
        expect(await toolkit.execute_tool("web_search", { query: "tea" })).toMatchObject({ success: true, data: ["tea", 10] });
        const [, printed] = /f"(Tool '[^"]+)"/.exec(BLOCK)!;
        const message = printed!.replace("{name}", "none").replace("{self.agent_name}", "lead");
        expect(await toolkit.execute_tool("none", {})).toMatchObject({ success: false, error: expect.stringContaining(message) });
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 8,
    heading: "初始化流程",
    after: `import { expect } from "vitest"; import { ToolRegistry } from "haft/compat";
      import { createArtifactManager, createArtifactTools } from "haft/workspace"; ${IMPORT_SEARCH} ${SEARCH}
      export function check() {
        const registry = new ToolRegistry();
        checkNames(NAMES, { ToolRegistry: registry });
        const tools = [new WebSearchTool(), ...createArtifactTools(createArtifactManager())];
        for (const tool of tools) registry.register_tool_to_library(tool);
        const toolkit = registry.create_agent_toolkit("lead", ["web_search", "create_artifact"]);
        expect(toolkit.list_tools().map(({ name }) => name)).toEqual(["web_search", "create_artifact"]);
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 9,
    heading: "XMLToolCallParser",
    after: `import { expect } from "vitest"; import { parse_tool_calls, parseToolCalls, XMLToolCallParser } from "haft/compat";
      const text = ${CALL};
      export function check() {
        const [printed, inCamelCase] = [parse_tool_calls(text)[0]!, parseToolCalls(text)[0]!];
        checkNames(NAMES, { ToolCall: [printed, inCamelCase], XMLToolCallParser });
        expect(XMLToolCallParser.parse_tool_calls(text)).toEqual([
          { name: "web_search", params: { query: "tea", max_results: 10 }, raw_text: text },
        ]);
      }`,
  },
  {
    document: "004",
    language: "xml",
    block: 1,
    heading: "工具调用格式",
    after: `import { expect } from "vitest"; import { parse_tool_calls, ToolPromptGenerator } from "haft/compat";
      export function check() {
        const params = { query: "Python async best practices", max_results: 10 };
        expect(parse_tool_calls(BLOCK)).toEqual([{ name: "web_search", params, raw_text: BLOCK }]);
        const tool = {
          name: "web_search",
          description: "Searches.",
          parameters: { type: "object", properties: { query: { type: "string", examples: [params.query] }, max_results: { type: "integer", default: 10 } }, required: ["query"] },
        };
        expect(ToolPromptGenerator.generate_tool_instruction([tool])).toContain("Example:\\n" + BLOCK + "\\n");
      }`,
  },
  {
    document: "004",
    language: "python",
    block: 10,
    heading: "ToolPromptGenerator",
    after: `import { ToolPromptGenerator } from "haft/compat"; import { expect } from "vitest";
      export function check() {
        checkNames(NAMES, { ToolPromptGenerator });
        const written = ToolPromptGenerator.format_tool_result("web_search", { success: true, data: "tea" });
        expect(written).toContain("<name>web_search</name>");
      }`,
  },
  {
    document: "004",
    language: "prompt",
    block: 1,
    heading: "ToolPromptGenerator",
    after: `import { expect } from "vitest"; import { BaseTool, ToolParameter, ToolPromptGenerator, ToolRegistry } from "haft/compat";
      class WebSearchTool extends BaseTool {
        constructor() {
          super({ name: "web_search", description: "Search the web for information using Bocha AI search engine" });
        }
        get_parameters() {
          return [
            new ToolParameter({ name: "query", type: "string", description: "Search query using keywords." }),
            new ToolParameter({ name: "freshness", type: "string", description: "Time range filter: 'noLimit', 'oneDay', ...", required: false, default: "noLimit" }),
            new ToolParameter({ name: "count", type: "integer", description: "Number of results to return (1-50)", required: false, default: 10 }),
          ];
        }
        async execute() { return { success: true }; }
      }
      export function check() {
        const registry = new ToolRegistry();
        registry.register_tool_to_library(new WebSearchTool());
        const tools = registry.create_agent_toolkit("lead", ["web_search"]).list_tools();
        expect(ToolPromptGenerator.generate_tool_instruction(tools)).toContain("\\n\\n" + BLOCK + "\\n\\n");
      }`,
  },
];
