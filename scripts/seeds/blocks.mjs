// What surrounds the blocks of the design documents, and what is expected of them. The blocks themselves are not here: they are
// read from the documents and used as printed.
//
// `before` and `after` have what a block uses and does not define: imports, values of the author's own project, the class
// or function that it is a part of. `after` compares a declaration with our types, or exports `check()`, which runs after the block.
// `runs`: "program" (default), "tests" (it has its own tests), or false (a declaration). `throws`: what running it throws.
// `signatures`: methods are printed without bodies. `fills`: what stands for an ellipsis or a placeholder.

/** The imports of the documents, and what each stands for here. */
export const IMPORTS = {
  "./types": 'export * from "haft/compat";',
  "./registry": 'export * from "haft/compat";',
  "./file-tools": `
    import { existsSync, writeFileSync } from "node:fs";
    import { viewTool } from "haft/compat";
    import { openWorkspace } from "haft/workspace";
    if (!existsSync("/tmp/test.txt")) writeFileSync("/tmp/test.txt", "for a test of Haft\\n");
    const { tools } = openWorkspace("/tmp", { sandbox: false });
    export const read_file = viewTool(tools.find(({ aliases }) => aliases.includes("read_file"))!);`,
  "bun:test": 'export * from "vitest";',
};

const EXPECT = 'import { expect } from "vitest";';
/** A tool with this code returns what the code returns. */
const GIVES_THE_SAME = `};
      ${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const haft = createHaft({ defaultPermission: "auto", tools: [{ name: "give", description: "Gives.", parameters: { type: "object" }, execute }] });
        expect(await haft.execute("give", {})).toMatchObject(await execute("c1"));
      }`;
const ZOD = 'import { z } from "zod";';
/** A tool of kind write or execute needs a person. */
const WAITS = (tool, input) =>
  `expect(await createHaft({ tools: [${tool}] }).execute(${tool}.name, { ${input} })).toMatchObject({ status: "pending" });`;
const TEMPORARY = `
  import { mkdtempSync, writeFileSync } from "node:fs";
  import { tmpdir } from "node:os";
  import { join } from "node:path";
  const temporaryFile = (text: string): string => {
    const file = join(mkdtempSync(join(tmpdir(), "haft-seeds-")), "a.txt");
    writeFileSync(file, text);
    return file;
  };`;

export const BLOCKS = [
  {
    document: "000",
    block: 1,
    heading: "Tool（工具接口）",
    before: `${ZOD} import type { ToolContext, ToolResult } from "haft/compat";`,
    compares: true,
    after: `${EXPECT} import { type Tool as OurTool, ToolCategory as Ours } from "haft/compat";
      export const accepts = (theirs: Tool): OurTool => theirs;
      export const check = () => expect(Ours).toMatchObject(ToolCategory);`,
  },
  {
    document: "000",
    block: 2,
    heading: "ToolResult（工具执行结果）",
    runs: false,
    compares: true,
    after: `import type { ResultView, ToolResult as Ours } from "haft/compat";
      export const reads = (ours: ResultView): ToolResult => ours;
      export const writes = (theirs: ToolResult): Ours => theirs;`,
  },
  {
    document: "000",
    block: 3,
    heading: "ToolContext（工具执行上下文）",
    runs: false,
    compares: true,
    after: `import type { CallOptions } from "haft"; import type { ToolContext as Ours } from "haft/compat";
      export const reads = (ours: Ours): ToolContext => ours;
      export const passes = (theirs: ToolContext): CallOptions => theirs;`,
  },
  {
    document: "000",
    block: 4,
    heading: "ToolRegistry（工具注册表）",
    signatures: true,
    runs: false,
    compares: true,
    // The third document prints another type of this name, with code.
    before: `import type { FunctionDeclaration as ToolDefinition, Tool, ToolCategory } from "haft/compat";`,
    after: `import type { ToolRegistry as Ours } from "haft/compat";
      export const uses = (ours: Ours): ToolRegistry => ours;`,
  },
  {
    document: "000",
    block: 5,
    heading: "文件访问限制",
    throws: "Access denied",
    before: `import { isPathAllowed, type ToolContext, ToolPermissionError } from "haft/compat";
      const path = "/etc/passwd";`,
  },
  {
    document: "000",
    block: 6,
    heading: "超时控制",
    after: `${EXPECT} import { createHaft } from "haft"; import { createFakeClock } from "haft/testing";
      export async function check() {
        const clock = createFakeClock();
        const haft = createHaft({ clock });
        for (const [category, ms] of [["custom", DEFAULT_TOOL_TIMEOUT], ["network", NETWORK_TOOL_TIMEOUT]] as const) {
          let ends = () => {};
          const begun = new Promise<void>((resolve) => (ends = resolve));
          haft.register({ name: category, category, kind: "readonly", description: "Waits.", parameters: [],
            run: (_input, { signal }) => new Promise((_, reject) => { signal.onabort = () => reject(signal.reason); ends(); }) });
          const running = haft.execute(category, {});
          await begun;
          await clock.advance(ms);
          expect(await running).toMatchObject({ error: { message: expect.stringContaining(\`after \${ms}ms\`) } });
        }
      }`,
  },
  {
    document: "000",
    block: 7,
    heading: "并发控制",
    before: `import { ToolExecutor, ToolRegistry } from "haft/compat";
      class Semaphore { constructor(readonly permits: number) {} }
      class Agent {
        toolSemaphore: Semaphore;
        constructor(readonly settings: { agent: { maxConcurrentTools: number } }) {`,
    after: `}}
      export function check() {
        const { toolSemaphore } = new Agent({ agent: { maxConcurrentTools: 3 } });
        new ToolExecutor(new ToolRegistry(), { maxConcurrentTools: toolSemaphore.permits });
      }`,
  },
  {
    document: "000",
    block: 8,
    heading: "MCP 集成",
    signatures: true,
    compares: true,
    before: `import { jsonSchemaToZod, type Tool, ToolCategory } from "haft/compat";
      type JSONSchema = Parameters<typeof jsonSchemaToZod>[0];`,
    after: `${EXPECT} import { type MCPClient as Ours, ToolExecutor, ToolRegistry, wrapMCPTool as wrap } from "haft/compat";
      export const uses = (ours: Ours): MCPClient => ours;
      export const wraps = (theirs: MCPTool, client: MCPClient) => wrap(theirs, client);
      export async function check() {
        const registry = new ToolRegistry();
        const client = { callTool: async () => "pong" } as unknown as MCPClient;
        registry.register(wrapMCPTool({ name: "ping", description: "Pings.", inputSchema: { type: "object" } }, client));
        expect(await new ToolExecutor(registry).execute("ping", {})).toMatchObject({ result: "pong" });
      }`,
  },
  {
    document: "000",
    block: 9,
    heading: "扩展自定义工具",
    before: `import { ToolCategory } from "haft/compat";
      const doSomething = async (input: string, optional?: number) => {
        if (input === "") throw new Error("nothing to do");
        return \`\${input} \${optional}\`;
      };`,
    after: `${EXPECT} import { ToolExecutor } from "haft/compat";
      export async function check() {
        const executor = new ToolExecutor(registry);
        const call = (input: object) => executor.execute("my_custom_tool", input, { taskId: "t1" });
        expect(await call({ input: "a", optional: 2 })).toMatchObject({ success: true, result: "a 2" });
        expect(await call({ input: "" })).toMatchObject({ success: false, error: "nothing to do" });
        expect(await call({})).toMatchObject({ success: false, error: expect.stringContaining("validation failed") });
      }`,
  },
  {
    document: "000",
    block: 10,
    heading: "工具错误类型",
    compares: true,
    after: `${EXPECT} import * as ours from "haft/compat";
      const OurError = ours.ToolError;
      export function check() {
        const pairs: [Error, Error][] = [
          [new ToolError("t", "m", 1), new OurError("t", "m", 1)],
          [new ToolNotFoundError("t"), new ours.ToolNotFoundError("t")],
          [new ToolValidationError("t", []), new ours.ToolValidationError("t", [])],
          [new ToolTimeoutError("t", 5), new ours.ToolTimeoutError("t", 5)],
          [new ToolPermissionError("t", "m"), new ours.ToolPermissionError("t", "m")],
        ];
        for (const [theirs, own] of pairs) {
          const { toolName, cause } = theirs as ToolError;
          expect(own).toMatchObject({ name: theirs.name, message: theirs.message, toolName });
          expect(own.cause).toEqual(cause);
          expect(own).toBeInstanceOf(OurError);
        }
      }`,
  },
  {
    document: "000",
    block: 11,
    heading: "错误恢复策略",
    runs: false,
    compares: true,
    after: `import type { Reflection as Ours } from "haft/agent";
      export const reads = (ours: Ours): Reflection => ours;`,
  },
  { document: "000", block: 12, heading: "测试", runs: "tests" },
  {
    document: "001",
    block: 1,
    heading: "6.2.1 ToolKind 枚举",
    compares: true,
    after: `${EXPECT} import { ToolKind as Ours } from "haft/compat";
      export const check = () => expect({ ...ToolKind }).toEqual({ ...Ours });`,
  },
  {
    document: "001",
    block: 2,
    heading: "6.2.2 ToolResult 接口",
    runs: false,
    compares: true,
    // The document does not print this type.
    before: 'import type { ResultView } from "haft/compat"; type ToolError = NonNullable<ResultView["error"]>;',
    after: `
      export const reads = (ours: ResultView): ToolResult => ours;`,
  },
  {
    document: "001",
    block: 3,
    heading: "6.2.3 Tool 接口",
    runs: false,
    compares: true,
    before: `import type { CallOptions as ExecutionContext, FunctionDeclaration, ToolInvocation } from "haft";
      import type { ResultView as ToolResult, ToolDescription, ToolKind } from "haft/compat";`,
    after: `import type { ViewedTool } from "haft/compat";
      export const uses = (ours: ViewedTool): Tool<any> => ours;`,
  },
  {
    document: "001",
    block: 4,
    heading: "6.3.1 createTool 函数",
    exception: "abridged: the returned object lacks members that the document's own interface requires",
    before: `${ZOD} import { zodToJsonSchema } from "zod-to-json-schema";
      import { type ToolConfig as Config, type ViewedTool, ToolKind } from "haft/compat";
      type ToolConfig<S extends z.ZodType> = { name: string; kind: ToolKind; schema: S; description: { short: string };
        execute(params: z.infer<S>, context?: unknown): Promise<unknown> };
      type Tool<T> = ViewedTool;`,
  },
  {
    document: "001",
    block: 5,
    heading: "6.3.2 使用 Zod Schema",
    before: ZOD,
    after: 'export const params: ReadParams = { file_path: "a.txt" };',
  },
  {
    document: "001",
    block: 6,
    heading: "6.4.1 Read 工具",
    before: `${ZOD} import fs from "node:fs/promises"; import { createTool, ToolKind } from "haft/compat"; ${TEMPORARY}`,
    after: `${EXPECT}
      export async function check() {
        const file_path = temporaryFile("one");
        const read = await readTool.execute({ file_path });
        expect(read).toMatchObject({ success: true, llmContent: "one", displayContent: expect.stringContaining(file_path) });
        expect(await readTool.execute({ file_path, limit: 10_001 })).toMatchObject({ success: false });
        expect(readTool.isReadOnly).toBe(true);
      }`,
  },
  {
    document: "001",
    block: 7,
    heading: "6.4.2 Glob 工具",
    before: `${ZOD} import { createTool, ToolKind } from "haft/compat";
      const glob = async (pattern: string, { cwd }: { cwd?: string }) => [\`\${cwd}/\${pattern}\`];`,
    after: `${EXPECT}
      export async function check() {
        const found = await globTool.execute({ pattern: "*.ts", path: "src" });
        expect(found).toMatchObject({ success: true, llmContent: "src/*.ts" });
      }`,
  },
  {
    document: "001",
    block: 8,
    heading: "6.4.3 Grep 工具",
    before: `${ZOD} import { createTool, ToolKind } from "haft/compat";
      const searchContent = async ({ pattern }: { pattern: string }) => \`a.ts:1:\${pattern}\`;`,
    after: `${EXPECT}
      export async function check() {
        expect(await grepTool.execute({ pattern: "TODO" })).toMatchObject({ success: true, llmContent: "a.ts:1:TODO" });
      }`,
  },
  {
    document: "001",
    block: 9,
    heading: "6.4.4 Edit 工具",
    fills: [[", ... }", ', llmContent: "", displayContent: "" }']],
    before: `${ZOD} import fs from "node:fs/promises"; import { createTool, ToolKind } from "haft/compat"; ${TEMPORARY}`,
    after: `${EXPECT} import { createHaft } from "haft"; import { readFileSync } from "node:fs";
      export async function check() {
        const haft = createHaft({ tools: [editTool], approver: async () => ({ approved: true }) });
        const file_path = temporaryFile("a a");
        const edit = (input: object) => haft.execute("Edit", { file_path, old_string: "a", new_string: "b", ...input });
        expect(await edit({})).toMatchObject({ success: false });
        expect(await edit({ replace_all: true })).toMatchObject({ success: true });
        expect(readFileSync(file_path, "utf8")).toBe("b b");
        ${WAITS("editTool", 'file_path, old_string: "a", new_string: "b"')}
      }`,
  },
  {
    document: "001",
    block: 10,
    heading: "6.4.5 Write 工具",
    fills: [[", ... }", ', llmContent: "", displayContent: "" }']],
    before: `${ZOD} import fs from "node:fs/promises"; import path from "node:path";
      import { createTool, ToolKind } from "haft/compat"; ${TEMPORARY}`,
    after: `${EXPECT} import { createHaft } from "haft"; import { existsSync, readFileSync } from "node:fs";
      export async function check() {
        const haft = createHaft({ tools: [writeTool], approver: async () => ({ approved: true }) });
        const file_path = temporaryFile("") + ".d/new.txt";
        ${WAITS("writeTool", 'file_path, contents: "new"')}
        expect(existsSync(file_path)).toBe(false);
        expect(await haft.execute("Write", { file_path, contents: "new" })).toMatchObject({ success: true });
        expect(readFileSync(file_path, "utf8")).toBe("new");
      }`,
  },
  {
    document: "001",
    block: 11,
    heading: "6.4.6 Bash 工具",
    fills: [[", ... }", ', displayContent: "" }']],
    before: `${ZOD} import { exec as start } from "node:child_process"; import { promisify } from "node:util";
      import { createTool, ToolKind } from "haft/compat"; const exec = promisify(start);`,
    after: `${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const haft = createHaft({ tools: [bashTool], approver: async () => ({ approved: true }) });
        const result = await haft.execute("Bash", { command: "echo Hello from Bash" });
        expect(result).toMatchObject({ success: true, content: [{ text: "Hello from Bash\\n" }] });
        expect(bashTool.isConcurrencySafe).toBe(false);
        ${WAITS("bashTool", 'command: "true"')}
      }`,
  },
  {
    document: "001",
    block: 12,
    heading: "6.5.1 ToolRegistry 类",
    compares: true,
    exception: "calls getReadOnlyTools(), which the printed class does not have",
    ignores: ["TS2339", "TS2551"],
    before: `import { EventEmitter } from "node:events"; import type { FunctionDeclaration, ViewedTool as Tool } from "haft/compat";`,
    after: `${EXPECT} import { createTool, ToolRegistry as Ours } from "haft/compat";
      type Named = "register" | "registerMcpTool" | "unregisterMcpTool" | "get" | "getAll" | "getFunctionDeclarationsByMode";
      export const uses = (ours: Ours): Pick<ToolRegistry, Named> => ours;
      export function check() {
        const tool = (name: string) => createTool({ name, description: name, parameters: [], run: () => name });
        const play = (registry: Pick<ToolRegistry, Named> & { on(type: "toolRegistered", listener: (event: { type: string; tool: Tool }) => void): unknown }) => {
          const seen: unknown[] = [];
          registry.on("toolRegistered", (event) => void seen.push([event.type, event.tool.name]));
          registry.register(tool("a"));
          registry.registerMcpTool(tool("b"));
          const removed = [registry.unregisterMcpTool("b"), registry.unregisterMcpTool("a")];
          return { seen, removed, left: registry.getAll().map(({ name }) => name), a: registry.get("a")?.name };
        };
        expect(play(new Ours())).toEqual(play(new ToolRegistry()));
      }`,
  },
  {
    document: "001",
    block: 13,
    heading: "6.5.2 工具分类索引",
    before: `import { tmpdir } from "node:os"; import { ToolRegistry } from "haft/compat"; import { openWorkspace } from "haft/workspace";
      const registry = new ToolRegistry();
      registry.registerMany(openWorkspace(tmpdir(), { sandbox: false }).tools);`,
    after: `${EXPECT}
      export function check() {
        const names = (tools: { name: string }[]) => tools.map(({ name }) => name);
        expect(names(registry.getByCategory("文件操作"))).toEqual(expect.arrayContaining(["read", "edit", "write"]));
        expect(names(registry.getByTag("file"))).toEqual(expect.arrayContaining(["read", "edit", "write", "glob"]));
        expect(registry.search("file").length).toBeGreaterThan(3);
      }`,
  },
  { document: "001", block: 14, heading: "1. Zod Schema 一石三鸟", before: ZOD },
  { document: "001", block: 15, heading: "2. llmContent vs displayContent 分离" },
  {
    document: "001",
    block: 16,
    heading: "3. ToolKind 权限分类",
    compares: true,
    after: `${EXPECT} import { ToolKind as Ours } from "haft/compat";
      export const check = () => expect(Object.keys(Ours).filter((key) => key in ToolKind)).toHaveLength(3);`,
  },
  {
    document: "001",
    block: 17,
    heading: "4. 工厂函数强制规范",
    fills: [["description: {},", 'description: { short: "Reads." },']],
    before: `${ZOD} import { createTool } from "haft/compat";`,
    after: `for (const missing of ["name", "schema", "description", "execute"]) {
        const config = { name: "Read", schema: z.object(), description: { short: "Reads." }, execute: async () => {} };
        delete (config as Record<string, unknown>)[missing];
        let refused = false;
        try { createTool(config); } catch { refused = true; }
        if (!refused) throw new Error("a tool without " + missing + " was made");
      }`,
  },
  {
    document: "001",
    block: 18,
    heading: "Q1: LLM 是怎么决定用什么工具的？",
    compares: true,
    before: 'import type { FunctionDeclaration } from "haft/compat"; export const declaration: FunctionDeclaration =',
  },
  {
    document: "002",
    block: 1,
    heading: "ToolCallContext 详解",
    compares: true,
    before: `${ZOD}
      const SimpleToolCallDefSchema = z.object({ name: z.string(), description: z.string(), async: z.boolean() });
      const ToolCallParamsSchema = z.object({ callId: z.string(), name: z.string(), input: z.unknown() });
      const ToolExecutionResultSchema = z.object({ callId: z.string(), success: z.boolean() });`,
    after: `${EXPECT} import { createHaft, createTool, ToolCallContext } from "haft";
      export async function check() {
        const tool = createTool({ name: "add", description: "Adds.", kind: "readonly", parameters: [], run: () => 2 });
        const context = new ToolCallContext();
        context.setToolDefinitions([tool.toCallParams()]);
        context.setToolCalls([{ callId: "c1", name: "add", input: {} }]);
        context.setToolCallResult(await createHaft({ tools: [tool] }).execute("add", {}, { id: "c1" }));
        const data = ToolAsyncCallContextDataSchema.parse(context.toJSON());
        expect(data.toolResults).toEqual([{ callId: "c1", success: true }]);
      }`,
  },
  {
    document: "002",
    block: 2,
    heading: "工具结果处理",
    before: `import { createHaft, type ToolResult as ToolExecutionResult } from "haft";
      const logger = { error: (..._words: unknown[]) => undefined };
      class Agent {
        readonly received: unknown[] = [];
        readonly contextManager = {
          contextList: () => [{ id: "a", onToolCall: (result: unknown) => void this.received.push(result) }, { id: "b" }],
        };`,
    after: `
        receive(result: ToolExecutionResult) { this.processToolCallResult(result); return this.received; }
      }
      ${EXPECT}
      export async function check() {
        const result = await createHaft().execute("nobody");
        expect(new Agent().receive(result)).toEqual([result]);
      }`,
  },
  {
    document: "002",
    block: 3,
    heading: "工具创建示例",
    before: `${ZOD} import { createTool } from "haft/compat";
      const someAsyncOperation = async (query: string, seconds: number) => [query, seconds];`,
    after: `${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const simple = await MySimpleTool.execute({ param1: "tea", param2: 2 });
        expect(simple).toMatchObject({ success: true, result: { result: "Processed tea with value 2", success: true } });
        const haft = createHaft({ tools: [MyLongRunningTool] });
        const begun = await haft.execute("my_long_running_tool", { query: "tea" });
        expect(begun).toMatchObject({ status: "pending", pending: { kind: "job" } });
      }`,
  },
  {
    document: "003",
    block: 1,
    heading: "2.1 工具定义",
    runs: false,
    compares: true,
    before: `import type { TObject } from "@sinclair/typebox";
      import type { AgentToolResult, AgentToolUpdateCallback } from "haft/compat";`,
    after: `import type { AgentTool as Ours } from "haft/compat";
      export const accepts = <P, R>(theirs: AgentTool<P, R>): Ours<P, R> => theirs;`,
  },
  {
    document: "003",
    block: 2,
    heading: "2.2 工具执行结果",
    runs: false,
    compares: true,
    after: `import type { AgentToolResult as Ours } from "haft/compat";
      export const accepts = <T>(theirs: AgentToolResult<T>): Ours<T> => theirs;`,
  },
  {
    document: "003",
    block: 3,
    heading: "步骤 1: 定义工具 Schema",
    after: `${EXPECT} import { toSchema } from "haft";
      export const check = () => expect(toSchema(ReadToolSchema).jsonSchema).toMatchObject({ required: ["file_path"] });`,
  },
  {
    document: "003",
    block: 4,
    heading: "步骤 2: 实现工具执行函数",
    before: `import fs from "node:fs/promises"; import { type Static, Type } from "@sinclair/typebox";
      import type { AgentTool } from "haft/compat"; ${TEMPORARY}
      const ReadToolSchema = Type.Object({ file_path: Type.String() });
      type ReadParams = Static<typeof ReadToolSchema>;
      type ReadResult = { path: string; lines: number };`,
    after: `${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const haft = createHaft({ defaultPermission: "auto" });
        haft.register(createReadTool());
        const file_path = temporaryFile("one\\ntwo");
        expect(await haft.execute("read", { file_path })).toMatchObject({ success: true, details: { path: file_path, lines: 2 } });
      }`,
  },
  {
    document: "003",
    block: 5,
    heading: "步骤 3: 注册工具",
    before: `import { Type } from "@sinclair/typebox"; import { type AgentTool, jsonResult } from "haft/compat";
      const made = (name: string) => (): AgentTool<object, string> => ({
        name, description: name, parameters: Type.Object({}),
        async execute(toolCallId: string) { return jsonResult(toolCallId); },
      });
      const [createReadTool, createWriteTool, createEditTool, createExecTool] =
        [made("read"), made("write"), made("edit"), made("exec")] as const;`,
    after: `${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const haft = createHaft({ defaultPermission: "auto", tools });
        expect(haft.tools.list().map(({ name }) => name)).toEqual(["read", "write", "edit", "exec"]);
        expect(await haft.execute("edit", {}, { id: "c1" })).toMatchObject({ details: "c1" });
      }`,
  },
  {
    document: "003",
    block: 6,
    heading: "步骤 4: 工具适配器",
    before: 'import { type AgentToolResult, type AnyAgentTool, jsonResult, type ToolDefinition } from "haft/compat";',
    after: `${EXPECT} import { toToolDefinitions as ours } from "haft/compat";
      export async function check() {
        const tool = { name: "fail", description: "Fails.", parameters: { type: "object" },
          async execute(toolCallId: string): Promise<AgentToolResult> { throw new Error(\`not \${toolCallId}\`); } } as const;
        const [theirs] = toToolDefinitions([tool]);
        const [own] = ours([tool]);
        expect(own).toMatchObject({ name: theirs!.name, label: theirs!.label });
        expect((await own!.execute("c1", {})).details).toEqual((await theirs!.execute("c1", {})).details);
      }`,
  },
  {
    document: "003",
    block: 7,
    heading: "4.1 工具分组",
    compares: true,
    after: `${EXPECT} import { TOOL_GROUPS as ours } from "haft/compat";
      export function check() {
        for (const [group, names] of Object.entries(TOOL_GROUPS)) expect(ours[group]).toEqual(expect.arrayContaining(names));
      }`,
  },
  {
    document: "003",
    block: 8,
    heading: "4.3 权限检查",
    before: `import type { ToolPolicy } from "haft"; import { expandToolGroups, normalizeToolName } from "haft/compat";`,
    after: `${EXPECT} import { isToolAllowedByPolicy as ours } from "haft/compat";
      export function check() {
        for (const policy of [{}, { deny: ["exec"] }, { allow: ["group:fs"] }, { allow: ["group:fs"], deny: ["write"] }]) {
          for (const name of ["read", "write", "exec", "Read"]) {
            expect(ours(name, policy), name).toBe(isToolAllowedByPolicy(name, policy));
          }
        }
      }`,
  },
  {
    document: "003",
    block: 9,
    heading: "5.2 错误处理",
    before: `import { type AnyAgentTool, jsonResult } from "haft/compat";
      const logged: string[] = [];
      const logError = (message: string) => void logged.push(message);
      async function run(tool: AnyAgentTool, toolCallId: string, params: object, signal?: AbortSignal, onUpdate?: () => void) {`,
    after: `}
      ${EXPECT}
      export async function check() {
        const tool: AnyAgentTool = { name: "fail", description: "Fails.", parameters: { type: "object" }, execute: async () => { throw new Error("no"); } };
        expect((await run(tool, "c1", {})).details).toEqual({ status: "error", tool: "fail", error: "no" });
        expect(logged).toEqual(["[tools] fail failed: no"]);
        await expect(run(tool, "c1", {}, AbortSignal.abort())).rejects.toThrow("no");
      }`,
  },
  {
    document: "003",
    block: 10,
    heading: "5.3 中断支持",
    before: `const items = [1, 2, 3]; const done: number[] = [];
      const processItem = async (item: number) => void done.push(item);`,
    after: `${EXPECT} import { createHaft } from "haft";
      export async function check() {
        const haft = createHaft({ defaultPermission: "auto" });
        haft.register({ name: "work", description: "Works.", parameters: { type: "object" }, execute });
        expect(await haft.execute("work", {})).toMatchObject({ success: true });
        expect(done).toEqual(items);
        await expect(execute("c1", {}, AbortSignal.abort())).rejects.toThrow("aborted");
      }`,
  },
  {
    document: "003",
    block: 11,
    heading: "6.1 纯文本结果",
    compares: true,
    before:
      'import type { AgentToolResult } from "haft/compat"; const execute = async (toolCallId: string): Promise<AgentToolResult> => {',
    after: GIVES_THE_SAME,
  },
  {
    document: "003",
    block: 12,
    heading: "6.2 图片结果",
    compares: true,
    before: `import type { AgentToolResult } from "haft/compat"; const base64Data = "iVBORw0KGgo=";
      const execute = async (toolCallId: string): Promise<AgentToolResult> => {`,
    after: GIVES_THE_SAME,
  },
  {
    document: "003",
    block: 13,
    heading: "6.3 JSON 结果",
    before: 'import type { AgentToolResult } from "haft/compat";',
    after: `${EXPECT} import { jsonResult as ours } from "haft/compat";
      export const check = () => expect(ours({ a: [1] })).toEqual(jsonResult({ a: [1] }));`,
  },
  {
    document: "003",
    block: 14,
    heading: "7.1 客户端工具",
    before: 'import { type ClientToolDefinition, jsonResult, type ToolDefinition } from "haft/compat";',
    after: `${EXPECT} import { toClientToolDefinitions as ours } from "haft/compat";
      export async function check() {
        const tools = [{ type: "function", function: { name: "locate", description: "Where?", parameters: { type: "object" } } } as const];
        const [theirs] = toClientToolDefinitions([...tools]);
        const [own] = ours(tools);
        expect((await own!.execute("c1", {})).details).toMatchObject((await theirs!.execute("c1", {})).details as object);
      }`,
  },
  {
    document: "003",
    block: 15,
    heading: "7.2 插件工具",
    before: `import { Type } from "@sinclair/typebox"; import { createHaft } from "haft"; import { jsonResult } from "haft/compat";
      const haft = createHaft({ defaultPermission: "auto" });
      const plugin: Parameters<typeof haft.tools.install>[0] = { manifest: { id: "mine" }, register(api) {`,
    after: `}};
      ${EXPECT}
      export async function check() {
        await haft.tools.install(plugin);
        expect(await haft.execute("my_tool", { input: "x" })).toMatchObject({ success: true, details: { result: "ok" } });
      }`,
  },
];
