import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createHaft } from "../runtime.ts";
import { createTool, type ToolConfig } from "./create-tool.ts";
import { ToolValidationError } from "./error.ts";
import { isTool, type AnyTool, type ToolContext } from "./tool.ts";
import type { SchemaSource } from "../schema/infer.ts";

type Config = ToolConfig<SchemaSource, SchemaSource, unknown>;
const make = (config: Partial<Config>): AnyTool =>
  createTool({
    name: "subject",
    description: "Does it",
    parameters: [],
    permission: "auto",
    run: () => 1,
    ...config,
  } as Config);

describe("createTool", () => {
  test("sets defaults, with the strictest kind", () => {
    expect(make({})).toMatchObject({
      name: "subject",
      title: "subject",
      description: { short: "Does it" },
      kind: "execute",
      category: "custom",
      tags: [],
      version: "1.0.0",
      aliases: [],
      mode: "inline",
      strict: false,
      concurrency: "shared",
      isReadOnly: false,
      isConcurrencySafe: true,
      idempotent: false,
      origin: { type: "own" },
    });
    expect(make({ permission: undefined }).permission({})).toBeUndefined();
  });

  test.each([
    ["execute", { run: undefined, execute: () => 1 }, {}],
    ["schema", { parameters: undefined, schema: [] }, {}],
    ["inputSchema", { parameters: undefined, inputSchema: [] }, {}],
    ["params", { parameters: undefined, params: [] }, {}],
    ["async", { async: true }, { mode: "background" }],
    ["id", { name: undefined, id: "by_id" }, { name: "by_id" }],
    ["label", { label: "A label" }, { title: "A label" }],
    ["displayName", { displayName: "A name", label: "A label" }, { title: "A name" }],
    ["isConcurrencySafe", { isConcurrencySafe: false }, { concurrency: "exclusive", isConcurrencySafe: false }],
    [
      "concurrency before isConcurrencySafe",
      { isConcurrencySafe: false, concurrency: "shared" },
      { concurrency: "shared" },
    ],
    ["kind", { kind: "readonly" }, { isReadOnly: true, idempotent: true }],
    ["category by its Chinese label", { category: "文件操作" }, { category: "file" }],
  ] as [string, Partial<Config>, object][])("takes %s", async (_key, config, expected) => {
    const tool = make(config);
    expect(tool).toMatchObject(expected);
    expect(await createHaft({ tools: [tool] }).execute(tool.name, {}, { background: false })).toMatchObject({
      status: "completed",
    });
  });

  test("accepts outputSchema, and validates the output with it", async () => {
    const tool = make({ outputSchema: z.object({ n: z.number() }), run: () => ({ n: "x" }) });
    expect(tool.toCallParams().output).toMatchObject({ type: "object" });
    expect(await createHaft({ tools: [tool] }).execute("subject")).toMatchObject({ error: { code: "bad_output" } });
  });

  test("accepts extractSignatureContent and abstractPermissionRule", () => {
    const tool = make({ extractSignatureContent: () => "ls -l", abstractPermissionRule: () => "ls *" });
    expect(tool.signature!({})).toBe("ls -l");
    expect(tool.rule!({})).toBe("ls *");
    expect(tool.build({}).getDescription()).toBe("subject: ls -l");
  });

  test("runs validate inside the gate, awaited, after the schema and before the code", async () => {
    let runs = 0;
    const validate = async ({ n }: { n: number }) => (n > 5 ? "n is too large" : null);
    const tool = make({ parameters: [{ name: "n", type: "integer" }], validate: validate as never, run: () => ++runs });
    const haft = createHaft({ tools: [tool] });
    expect(await haft.execute("subject", { n: 6 })).toMatchObject({
      error: { code: "invalid_input", message: "Parameter validation failed: n is too large" },
    });
    expect(runs).toBe(0);
    expect(await haft.execute("subject", { n: 5 })).toMatchObject({ details: 1 });
  });

  test.each([
    ["no name", { name: undefined }, /needs a name/],
    ["an empty name", { name: "" }, /needs a name/],
    ["a name with blanks", { name: "a b" }, /needs a name.*"a b"/],
    ["a name with a version", { name: "a@2" }, /needs a name/],
    ["a name that is a group", { name: "group:fs" }, /needs a name/],
    ["a name that is too long", { name: "a".repeat(129) }, /needs a name/],
    ["a name that is not a string", { name: 5 }, /needs a name.*5/],
    ["no code", { run: undefined }, /"subject" needs an `execute\(input, context\)`/],
    ["code that is not a function", { run: "x" }, /needs an `execute/],
    ["no description", { description: undefined }, /needs a description/],
    ["no parameters", { parameters: undefined }, /needs an `inputSchema`.*\[\]/],
    [
      "parameters that are not a schema",
      { parameters: 5 },
      /"subject" has an inputSchema that cannot be used: .*number/,
    ],
    [
      "parameters that look like a schema",
      { parameters: { path: z.string() } },
      /"subject" has an inputSchema.*z\.object/,
    ],
    ["a broken JSON Schema", { parameters: { type: "strnig" } }, /"subject" has an inputSchema that cannot be used/],
    ["an output that is not a schema", { output: 5 }, /"subject" has an outputSchema that cannot be used/],
    ["an unknown kind", { kind: "read" }, /kind "read"; use "readonly"/],
    ["an alias that is not a name", { aliases: ["a b"] }, /alias.*"a b"/],
    ["a dialect's name that is not a name", { dialects: { claude: { name: "a b" } } }, /alias.*"a b"/],
    ["a cache of a tool that writes", { kind: "write", cache: { ttlMs: 1 } }, /cache but is not read-only/],
  ] as [string, object, RegExp][])("refuses %s, and says what is wrong", (_what, config, message) => {
    expect(() => make(config as Partial<Config>)).toThrow(message);
    expect(() => make(config as Partial<Config>)).toThrow(TypeError);
  });

  test("makes a tool that cannot be changed, also not through its configuration", () => {
    const config = {
      tags: ["a"],
      limits: { timeoutMs: 5 },
      origin: { type: "mcp", server: "s" },
      aliases: ["b"],
    } as const;
    const tool = make(config as unknown as Partial<Config>);
    const change = (what: () => unknown): void => expect(what).toThrow(TypeError);
    change(() => ((tool as { name: string }).name = "x"));
    change(() => ((tool as { permission: unknown }).permission = () => "auto"));
    change(() => ((tool.limits as { timeoutMs: number }).timeoutMs = 1));
    change(() => (tool.tags as string[]).push("x"));
    change(() => (tool.aliases as string[]).push("x"));
    change(() => ((tool.origin as { type: string }).type = "builtin"));
    change(() => ((tool.description as { short: string }).short = "x"));
    (config.limits as { timeoutMs: number }).timeoutMs = 9;
    (config.origin as { type: string }).type = "builtin";
    expect(tool).toMatchObject({ limits: { timeoutMs: 5 }, origin: { type: "mcp" } });
  });

  test("hides the code: no property of a tool runs it without the gate", async () => {
    let runs = 0;
    const tool = make({ run: () => ++runs, permission: "confirm" });
    createHaft({ tools: [tool] });
    for (const key of Reflect.ownKeys(tool)) {
      const value: unknown = Reflect.get(tool, key);
      if (typeof value !== "function") continue;
      try {
        await (value as (...args: unknown[]) => unknown).call(tool, {}, {});
      } catch {
        // It must not have run, with any outcome.
      }
    }
    expect(runs).toBe(0);
    expect(JSON.stringify(Reflect.ownKeys(tool).map(String))).not.toMatch(/body|run/);
  });

  test("is the only way to make a tool: copies and derived objects are not tools", () => {
    const tool = make({ permission: "confirm" });
    expect(isTool(tool)).toBe(true);
    expect(isTool({ ...tool })).toBe(false);
    expect(isTool(Object.create(tool, { permission: { value: () => "auto" } }))).toBe(false);
    expect(isTool(null)).toBe(false);
  });
});

describe("build", () => {
  const tool = () =>
    createTool({
      name: "add",
      description: "",
      title: "Add",
      parameters: z.object({ a: z.number(), b: z.number().default(1) }),
      permission: "confirm",
      run: ({ a, b }) => a + b,
    });

  test("validates, and throws an error with every issue", () => {
    expect(tool().build({ a: 1 }).params).toEqual({ a: 1, b: 1 });
    const bad = (): unknown => tool().build({ a: "x", b: "y" } as never);
    expect(bad).toThrow(ToolValidationError);
    expect(bad).toThrow(/Parameter validation failed.*a: .*b: /s);
  });

  test("returns a call that has not run, and that runs through the gate", async () => {
    const subject = tool();
    const haft = createHaft({ tools: [subject] });
    const invocation = subject.build({ a: 1 });
    expect(invocation.tool).toBe(subject);
    expect(invocation.getDescription()).toBe("Add");
    expect(haft.tools.stats().callStats).toEqual({});
    const result = await invocation.execute({ id: "c" });
    expect(result).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(await haft.calls.log.recent()).toMatchObject([{ callId: "c", toolName: "add" }]);
  });

  test("says that an asynchronous schema needs execute", () => {
    const slow = make({ parameters: z.object({ a: z.string().refine(async () => true) }) });
    expect(() => slow.build({ a: "x" })).toThrow(/asynchronous/);
  });
});

describe("execute of a tool", () => {
  test("runs through the gate of the runtime that it is registered in", async () => {
    const tool = make({ run: () => "ran" });
    const haft = createHaft({ tools: [tool], policy: { deny: ["subject"] } });
    expect(await tool.execute({})).toMatchObject({ error: { code: "denied" } });
    expect(await haft.calls.log.recent()).toHaveLength(1);
  });

  test("runs through the default runtime's gate if it is not registered", async () => {
    const tool = make({ parameters: [{ name: "a", type: "string" }], run: () => "ran" });
    expect(await tool.execute({ a: 1, b: 2 } as never)).toMatchObject({ error: { code: "invalid_input" } });
    expect(await tool.execute({ a: "x" })).toMatchObject({ details: "ran" });
  });

  test("forwards the caller's options", async () => {
    let seen: Partial<ToolContext> = {};
    const tool = make({
      run: (_input: unknown, { callId, caller, allowedPaths, workspace }: ToolContext) =>
        void (seen = { callId, caller, allowedPaths, workspace }),
    });
    createHaft({ tools: [tool], folder: "/somewhere" });
    await tool.execute({}, { id: "c", caller: { session: "s" }, taskId: "t", userId: "u", allowedPaths: ["/a"] });
    expect(seen).toEqual({
      callId: "c",
      caller: { session: "s", task: "t", user: "u", depth: 0 },
      allowedPaths: ["/a"],
      workspace: "/somewhere",
    });
  });
});

describe("a tool's declaration", () => {
  const tool = createTool({
    name: "read",
    description: {
      short: "Reads a file.",
      long: "With line numbers.",
      usageNotes: ["Give whole paths."],
      important: ["Never guess."],
      examples: [{ input: { path: "a" }, description: "a file" }],
    },
    kind: "readonly",
    strict: true,
    parameters: [
      { name: "path", type: "string", description: "Where" },
      { name: "limit", type: "integer", required: false },
    ],
    dialects: { claude: { name: "Read", parameters: { path: "file_path" } }, snake: { name: "read_file" } },
    run: () => "",
  });

  test("has the whole description and the schema", () => {
    const { name, description, parameters, strict } = tool.getFunctionDeclaration();
    expect(name).toBe("read");
    expect(description).toBe(
      'Reads a file.\n\nWith line numbers.\n\nUsage notes:\n- Give whole paths.\n\nImportant:\n- Never guess.\n\nExamples:\n- {"path":"a"} (a file)',
    );
    expect(parameters).toMatchObject({ type: "object", required: ["path"] });
    expect(strict).toBe(true);
  });

  test("has the names of a dialect, for the tool and for its parameters", () => {
    expect(tool.getFunctionDeclaration("claude")).toMatchObject({
      name: "Read",
      parameters: {
        properties: { file_path: { type: "string" }, limit: { type: "integer" } },
        required: ["file_path"],
      },
    });
    expect(tool.getFunctionDeclaration("snake")).toMatchObject({
      name: "read_file",
      parameters: { required: ["path"] },
    });
    expect(tool.getFunctionDeclaration("unknown").name).toBe("read");
    expect(tool.getFunctionDeclaration("constructor").name).toBe("read");
  });

  test("is made once", () => {
    expect(tool.getFunctionDeclaration("claude")).toBe(tool.getFunctionDeclaration("claude"));
    expect(tool.getFunctionDeclaration()).toBe(tool.getFunctionDeclaration());
  });

  test("is what toCallParams returns, with the output and whether the caller waits", () => {
    expect(tool.toCallParams()).toMatchObject({ name: "read", async: false });
    expect(make({ async: true, output: z.string() }).toCallParams()).toMatchObject({
      async: true,
      output: { type: "string" },
    });
  });
});

test("build accepts the same parameter names as a call", () => {
  const read = createTool({
    name: "peek",
    description: "Looks at a file.",
    kind: "readonly",
    parameters: [{ name: "path", type: "string" }],
    parameterAliases: { file: "path" },
    dialects: { claude: { name: "Peek", parameters: { path: "file_path" } } },
    run: ({ path }) => path,
  });
  expect(read.build({ file_path: "a" } as never).params).toEqual({ path: "a" });
  expect(read.build({ file: "b" } as never).params).toEqual({ path: "b" });
  expect(() => read.build({ file: "b", path: "a" } as never)).toThrow(/send one of them/);
});

describe("the names of other systems", () => {
  const base = { name: "erase", description: "Erases", inputSchema: [], execute: () => "erased" };
  const statusOf = async (config: object): Promise<string> => {
    const haft = createHaft({ tools: [createTool({ ...base, ...config })] });
    const registered = createHaft();
    registered.register({ ...base, ...config });
    const [made, taken] = [await haft.execute("erase"), await registered.execute("erase")];
    expect(taken.status).toBe(made.status);
    return made.status;
  };

  test.each([
    [{ requireApproval: false }, "completed"],
    [{ requireApproval: true, kind: "readonly" }, "pending"],
    [{ requireApproval: () => true }, "pending"],
    [{ isReadOnly: true }, "completed"],
    [{ annotations: { readOnlyHint: true } }, "completed"],
    [{ annotations: { destructiveHint: true } }, "pending"],
    [{ annotations: {} }, "pending"],
  ])("mean the same in createTool and register: %o", async (config, status) => {
    expect(await statusOf(config)).toBe(status);
  });

  test("give the title and whether it may be repeated", () => {
    const tool = createTool({ ...base, annotations: { title: "Erase all", idempotentHint: true } });
    expect(tool).toMatchObject({ title: "Erase all", idempotent: true });
  });

  test.each([
    [{ kind: "write", annotations: { readOnlyHint: true } }, /read-only and that it is not/],
    [{ isReadOnly: false, kind: "readonly" }, /read-only and that it is not/],
    [{ needsApproval: true, requireApproval: false }, /twice whether it needs approval/],
    [{ needsAproval: true }, /no option "needsAproval".*needsApproval/],
  ])("are refused if they contradict each other, or are misspelt: %o", (config, message) => {
    expect(() => createTool({ ...base, ...config } as never)).toThrow(message);
  });
});
