import { describe, expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createTool, type ToolConfig } from "./create-tool.ts";
import { ToolRegistry } from "./registry.ts";
import type { AnyTool, ToolOrigin } from "./tool.ts";
import type { SchemaSource } from "../schema/infer.ts";

type Config = Partial<ToolConfig<SchemaSource, SchemaSource, unknown>>;
const make = (name: string, config: Config = {}): AnyTool =>
  createTool({
    name,
    description: `The ${name} tool`,
    parameters: [],
    permission: "auto",
    run: () => name,
    ...config,
  } as never);
const builtin: ToolOrigin = { type: "builtin" };
const mcp = (server = "s"): ToolOrigin => ({ type: "mcp", server });

function registryOf(...tools: AnyTool[]): ToolRegistry {
  const registry = new ToolRegistry();
  registry.registerMany(tools);
  return registry;
}
const names = (tools: readonly AnyTool[]): string[] => tools.map(({ name }) => name);

describe("registering", () => {
  test("accepts a tool or its configuration, and returns the tool", () => {
    const registry = new ToolRegistry();
    const tool = make("a");
    expect(registry.register(tool)).toBe(tool);
    expect(
      registry.register({ name: "b", description: "", parameters: [], needsApproval: false, run: () => 1 }).name,
    ).toBe("b");
    expect(names(registry.registerMany([make("c"), make("d")]))).toEqual(["c", "d"]);
    expect(names(registry.list())).toEqual(["a", "b", "c", "d"]);
    expect([registry.has("a"), registry.has("z"), registry.get("z")]).toEqual([true, false, undefined]);
    expect(registry.names()).toEqual(["a", "b", "c", "d"]);
    expect(registry.require("a")).toBe(tool);
    expect(() => registry.require("z")).toThrow(/"z"/);
  });

  test("refuses a name twice, and says what to do", () => {
    const registry = registryOf(make("a"));
    expect(() => registry.register(make("a"))).toThrow(/"a" is already registered.*another version/);
    expect(registry.list()).toHaveLength(1);
  });

  test("refuses a name or alias of another tool, and then changes nothing", () => {
    const registry = registryOf(make("read", { aliases: ["cat"] }), make("write"));
    expect(() => registry.register(make("cat"))).toThrow(/"cat".*"read"/);
    expect(() => registry.register(make("show", { aliases: ["write"] }))).toThrow(
      /"show" cannot use the name "write": tool "write"/,
    );
    expect(() => registry.register(make("show", { aliases: ["new", "cat"] }))).toThrow(/"read"/);
    expect(names(registry.list())).toEqual(["read", "write"]);
    expect(registry.get("new")).toBeUndefined();
  });

  test("handles names of object members", () => {
    const registry = new ToolRegistry();
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"])
      expect(registry.get(name)).toBeUndefined();
    registry.register(make("constructor", { category: "constructor" }));
    expect(registry.get("constructor")?.name).toBe("constructor");
    expect(registry.getStats().byCategory).toMatchObject({ constructor: 1, file: 0 });
  });
});

describe("an MCP tool", () => {
  test.each([
    ["a name", make("read", { origin: mcp() })],
    ["a name, as a newer version", make("read", { origin: mcp(), version: "99.0.0" })],
    ["an alias", make("cat", { origin: mcp() })],
    ["a name, with an alias", make("m", { origin: mcp(), aliases: ["read"] })],
    ["an alias, with an alias", make("m", { origin: mcp(), aliases: ["cat"] })],
    ["a name, but for its case", make("READ", { origin: mcp() })],
    ["an alias, but for its case", make("m", { origin: mcp(), aliases: ["Cat"] })],
    ["another server's name", make("theirs", { origin: mcp("other") })],
  ])("never takes %s", (_what, intruder) => {
    const registry = registryOf(make("read", { origin: builtin, aliases: ["cat"] }), make("theirs", { origin: mcp() }));
    const read = registry.get("read");
    expect(() => registry.register(intruder)).toThrow(TypeError);
    for (const name of ["read", "READ", "cat", "Cat", "read@1"]) expect(registry.get(name)).toBe(read);
    expect(registry.list()).toHaveLength(2);
  });

  test.each([
    ["its name", make("read", { origin: mcp() }), {}],
    ["its name, in several versions", make("read", { origin: mcp(), version: "7.0.0" }), {}],
    ["its name as an alias", make("m", { origin: mcp(), aliases: ["read"] }), {}],
    ["the name of its alias", make("cat", { origin: mcp() }), { aliases: ["cat"] }],
    ["its name, but for the case", make("Read", { origin: mcp() }), {}],
  ])("gives way when a tool comes later that wants %s", (_what, early, config) => {
    const registry = registryOf(early, make("other", { origin: mcp() }));
    registry.search("read");
    const events: string[] = [];
    registry.on("tool_unregistered", ({ toolName }) => void events.push(`-${toolName}`));
    registry.on("tool_registered", ({ toolName }) => void events.push(`+${toolName}`));
    const read = registry.register(make("read", { origin: builtin, ...config }));
    expect(registry.get("read")).toBe(read);
    expect(registry.versions("read")).toEqual([read]);
    expect(names(registry.list()).sort()).toEqual(["other", "read"]);
    expect(events).toEqual([`-${early.name}`, "+read"]);
    expect(names(registry.search("read"))).toEqual(["read"]);
  });

  test("stays if the tool that would replace it is refused for another reason", () => {
    const registry = registryOf(make("read", { origin: mcp() }), make("write", { origin: builtin }));
    expect(() => registry.register(make("read", { origin: builtin, aliases: ["write"] }))).toThrow(/"write"/);
    expect(registry.get("read")?.origin.type).toBe("mcp");
  });

  test("is covered by categories, tags and search like any other", () => {
    const registry = registryOf(make("read"));
    registry.register({
      name: "weather_forecast",
      description: "Tomorrow's weather",
      tags: ["sky"],
      category: "network",
      origin: mcp(),
      parameters: [],
      needsApproval: false,
      run: () => 1,
    });
    expect(names(registry.list({ tag: "sky" }))).toEqual(["weather_forecast"]);
    expect(names(registry.list({ category: "网络" }))).toEqual(["weather_forecast"]);
    expect(names(registry.search("weather tomorrow"))).toEqual(["weather_forecast"]);
  });
});

describe("versions", () => {
  const one = make("read", { version: "1.0.0", run: () => "one" });
  const two = make("read", {
    version: "2.1.0",
    run: () => "two",
    aliases: ["cat"],
    dialects: { claude: { name: "Read" } },
  });
  const beta = make("read", { version: "2.2.0-beta.1" });
  const ten = make("read", { version: "10.0.0" });

  test("can coexist; a plain name means the first until another is preferred", () => {
    const registry = registryOf(one, two, ten);
    expect(registry.get("read")).toBe(one);
    expect(registry.get("read@2")).toBe(two);
    expect(registry.get("read@2.1")).toBe(two);
    expect(registry.get("read@10")).toBe(ten);
    expect(registry.get("read@1")).toBe(one);
    for (const name of ["read@3", "read@", "read@2.", "@2", "nothing@1"]) expect(registry.get(name)).toBeUndefined();
    expect(registry.list()).toHaveLength(1);
    expect(registry.versions("read")).toEqual([one, two, ten]);
    expect(registry.preferVersion("read@2")).toBe(two);
    expect(registry.get("read")).toBe(two);
    expect(() => registry.preferVersion("read@9")).toThrow(/"read@9"/);
  });

  test("are compared by their numbers, and a pre-release comes before its release", () => {
    const registry = registryOf(
      make("t", { version: "2.9.0" }),
      make("t", { version: "2.10.0" }),
      make("t", { version: "2.10.0-rc.1" }),
    );
    expect(registry.get("t@2")?.version).toBe("2.10.0");
    expect(registryOf(two, beta).get("read@2")?.version).toBe("2.2.0-beta.1");
  });

  test("are found by the aliases of each of them", () => {
    const registry = registryOf(one, two);
    expect(registry.get("cat")?.name).toBe("read");
    expect(registry.get("Read")?.name).toBe("read");
    expect(() => registryOf(make("cat"), one, two)).toThrow(/"cat"/);
    registry.preferVersion("read@2");
    const [shown] = createHaft({ registry }).tools.definitions({ dialect: "claude" });
    expect(registry.get(shown!.name)).toBe(two);
  });

  test("come from one origin only", () => {
    const registry = registryOf(make("read", { origin: builtin }));
    const plugin = make("read", { origin: { type: "plugin", plugin: "p" }, version: "2.0.0" });
    expect(() => registry.register(plugin)).toThrow(/from plugin:p is refused: the name belongs to builtin/);
  });

  test("can be unregistered one by one, and all together", () => {
    const registry = registryOf(one, two, ten);
    registry.split("read", { "1": 1, "2": 1 });
    expect(registry.unregister("read@1")).toBe(true);
    expect(registry.get("read")).toBe(two);
    expect(registry.armOf(two, "s")).toBeUndefined();
    expect(registry.unregister("read@2")).toBe(true);
    expect(registry.get("cat")).toBeUndefined();
    expect(registry.unregister("read@2")).toBe(false);
    expect(registry.unregister("READ")).toBe(true);
    expect(registry.list()).toEqual([]);
  });

  test("are named in the result if it is not the first", async () => {
    const haft = createHaft({ tools: [one, two] });
    expect((await haft.execute("read")).metadata.version).toBeUndefined();
    expect(await haft.execute("read@2")).toMatchObject({
      details: "two",
      metadata: { version: "2.1.0" },
      toolName: "read",
    });
  });
});

describe("a split", () => {
  const arms = () => [
    make("search", { version: "1.0.0", run: () => 1 }),
    make("search", { version: "2.0.0", run: () => 2 }),
  ];

  test("splits sessions by weight, within statistical limits", () => {
    const registry = registryOf(...arms());
    registry.split("search", { "1": 9, "2": 1 });
    const tool = registry.get("search")!;
    const sessions = 20_000;
    let second = 0;
    for (let i = 0; i < sessions; i++) if (registry.armOf(tool, `session-${i}`)!.arm === "2") second++;
    expect(second / sessions).toBeGreaterThan(0.09);
    expect(second / sessions).toBeLessThan(0.11);
  });

  test("gives a session one arm, names it in the result, and counts by arm", async () => {
    const haft = createHaft({ tools: arms() });
    haft.tools.registry.split("search", { "1": 1, "2": 1 });
    const seen = new Map<string, unknown>();
    for (let i = 0; i < 200; i++) {
      const session = `s${i % 50}`;
      const { details, metadata } = await haft.execute("search", {}, { caller: { session } });
      expect(String(details)).toBe(metadata.arm);
      expect(metadata.version).toBe(`${metadata.arm}.0.0`);
      expect(seen.get(session) ?? metadata.arm).toBe(metadata.arm);
      seen.set(session, metadata.arm);
    }
    const { byArm, count } = haft.tools.stats().callStats["search"]!;
    expect(count).toBe(200);
    expect(byArm!["1"]!.count + byArm!["2"]!.count).toBe(200);
    expect(Math.min(byArm!["1"]!.count, byArm!["2"]!.count)).toBeGreaterThan(40);
  });

  test("does not affect calls with a version or a tool object", async () => {
    const [first, second] = arms() as [AnyTool, AnyTool];
    const haft = createHaft({ tools: [first, second] });
    haft.tools.registry.split("search", { "2": 1 });
    expect((await haft.execute("search")).details).toBe(2);
    expect(await haft.execute("search@1")).toMatchObject({ details: 1 });
    expect((await haft.execute("search@1")).metadata.arm).toBeUndefined();
    expect((await first.execute({})).details).toBe(1);
  });

  test("can be ended", () => {
    const registry = registryOf(...arms());
    registry.split("search", { "1": 1, "2": 1 });
    registry.endSplit("search");
    expect(registry.armOf(registry.get("search")!, "s")).toBeUndefined();
  });

  test.each([
    [{ "1": -1 }, /at least 0/],
    [{ "1": Number.NaN }, /at least 0/],
    [{ "1": Number.POSITIVE_INFINITY, "2": 1 }, /at least 0/],
    [{ "1": 0, "2": 0 }, /above 0/],
    [{}, /above 0/],
    [{ "3": 1 }, /search@3/],
  ])("refuses the weights %o", (weights, message) => {
    const registry = registryOf(...arms());
    expect(() => registry.split("search", weights as Record<string, number>)).toThrow(message);
    expect(registry.armOf(registry.get("search")!, "s")).toBeUndefined();
  });
});

describe("looking up", () => {
  test("accepts every alias, and a spelling that matches only one tool", () => {
    const registry = registryOf(
      make("read_file", { aliases: ["cat"], dialects: { claude: { name: "Read" } } }),
      make("list"),
    );
    for (const name of ["read_file", "cat", "Read", "READ_FILE", "read-file", " Read-File ", "CAT"]) {
      expect(registry.get(name)?.name).toBe("read_file");
    }
  });

  test("does not choose if a spelling matches several", () => {
    const registry = registryOf(make("Read"), make("READ"), make("wri_te"), make("wri-te"));
    expect(registry.get("Read")?.name).toBe("Read");
    expect(registry.get("read")).toBeUndefined();
    expect(registry.get("WRI_TE")).toBeUndefined();
    registry.unregister("READ");
    expect(registry.get("read")?.name).toBe("Read");
  });

  test("removes the names of an unregistered tool", () => {
    const registry = registryOf(make("a", { aliases: ["b"] }));
    registry.search("a");
    expect(registry.unregister("b")).toBe(true);
    expect([registry.get("a"), registry.get("b"), registry.get("A")]).toEqual([undefined, undefined, undefined]);
    expect(registry.unregister("a")).toBe(false);
    expect(registry.search("a")).toEqual([]);
    registry.register(make("b"));
    expect(registry.get("b")?.name).toBe("b");
  });

  test("filters by category under any label, by tag and by kind", () => {
    const registry = registryOf(
      make("r", { category: "文件操作", kind: "readonly", tags: ["x"] }),
      make("w", { category: "file", kind: "write" }),
      make("e", { category: "Shell", kind: "execute", tags: ["x", "y"] }),
      make("c", { category: "My Own" }),
    );
    expect(names(registry.list({ category: "file" }))).toEqual(["r", "w"]);
    expect(names(registry.list({ category: "文件" }))).toEqual(["r", "w"]);
    expect(names(registry.list({ category: "runtime" }))).toEqual(["e"]);
    expect(names(registry.list({ category: "my own" }))).toEqual(["c"]);
    expect(names(registry.list({ tag: "x" }))).toEqual(["r", "e"]);
    expect(names(registry.list({ isReadOnly: true }))).toEqual(["r"]);
    expect(names(registry.list({ isReadOnly: false }))).toEqual(["w", "e", "c"]);
    expect(registry.getStats()).toMatchObject({ total: 4, byCategory: { file: 2, runtime: 1, "my own": 1 } });
  });

  test("searches the current tools, filtered before ranking", () => {
    const registry = registryOf(make("read_file"), make("read_url"));
    expect(names(registry.search("read")).sort()).toEqual(["read_file", "read_url"]);
    registry.register(make("read_mail"));
    expect(names(registry.search("mail"))).toEqual(["read_mail"]);
    const filter = ({ name }: AnyTool): boolean => name !== "read_mail";
    expect(registry.search("read", { limit: 2, filter })).toHaveLength(2);
    expect(names(registry.search("mail", { filter }))).not.toContain("read_mail");
  });
});

describe("the definitions for a model", () => {
  const registry = registryOf(
    make("read", {
      kind: "readonly",
      parameters: [{ name: "path", type: "string" }],
      dialects: { claude: { name: "Read", parameters: { path: "file_path" } } },
    }),
    make("write", { kind: "write" }),
    make("exec"),
  );

  test("contain only read-only tools in plan mode", () => {
    const haft = createHaft({ registry });
    expect(haft.tools.definitions().map(({ name }) => name)).toEqual(["read", "write", "exec"]);
    expect(haft.tools.definitions({ mode: "plan" }).map(({ name }) => name)).toEqual(["read"]);
  });

  test("have the names of its dialect, and calls with all of them are accepted", async () => {
    const haft = createHaft({ registry });
    const [shown] = haft.tools.definitions({ dialect: "claude" });
    expect(shown).toMatchObject({ name: "Read", parameters: { properties: { file_path: {} } } });
    for (const [name, input] of [
      ["Read", { file_path: "a" }],
      ["read", { path: "a" }],
      ["READ", { file_path: "a" }],
    ] as const) {
      expect(await haft.execute(name, input)).toMatchObject({ status: "completed", toolName: "read" });
    }
  });
});

describe("the registry's events", () => {
  test("report registrations and removals by name and origin", () => {
    const registry = new ToolRegistry();
    const received: unknown[] = [];
    registry.on("tool_registered", ({ toolName, source }) => void received.push(["tool_registered", toolName, source]));
    const stop = registry.on(
      "tool_unregistered",
      ({ toolName, source }) => void received.push(["tool_unregistered", toolName, source]),
    );
    registry.register(make("a"));
    registry.register(make("m", { origin: mcp() }));
    registry.unregister("a");
    stop();
    registry.unregister("m");
    expect(received).toEqual([
      ["tool_registered", "a", "own"],
      ["tool_registered", "m", "mcp:s"],
      ["tool_unregistered", "a", "own"],
    ]);
  });

  test("come after the tool can be found, and a listener that throws changes nothing", () => {
    const registry = new ToolRegistry();
    const found: unknown[] = [];
    registry.on("tool_registered", ({ toolName }) => void found.push(registry.has(toolName)));
    registry.on("tool_registered", () => {
      throw new Error("listener");
    });
    registry.register(make("a"));
    expect(found).toEqual([true]);
    expect(registry.has("a")).toBe(true);
  });
});
