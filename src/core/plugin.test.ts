import { describe, expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createTool } from "./create-tool.ts";
import type { Plugin, PluginApi } from "./plugin.ts";

const plugin = (register: (api: PluginApi) => void | Promise<void>, manifest: object = {}): Plugin => ({
  manifest: { id: "acme", ...manifest },
  register,
});
const definition = (name: string, more: object = {}) => ({
  name,
  description: "",
  parameters: [],
  permission: "auto" as const,
  run: () => `${name} ran`,
  ...more,
});

describe("a plugin", () => {
  test("registers tools of both conventions, and they run through the gate", async () => {
    const haft = createHaft();
    const tools = await haft.tools.install(
      plugin((api) => {
        expect(api.manifest.id).toBe("acme");
        api.registerTool(definition("ours"));
        api.registerTool({
          name: "seeds",
          label: "Seed",
          description: "",
          parameters: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
          needsApproval: false,
          execute(
            toolCallId: string,
            params: { a: string },
            signal?: AbortSignal,
            onUpdate?: (update: object) => void,
          ) {
            onUpdate?.({ content: [{ type: "text", text: "half" }] });
            return { content: [{ type: "text", text: `${toolCallId} ${params.a} ${signal?.aborted}` }], details: 1 };
          },
        } as never);
      }),
    );
    expect(tools.map(({ name, origin }) => [name, origin])).toEqual([
      ["ours", { type: "plugin", plugin: "acme" }],
      ["seeds", { type: "plugin", plugin: "acme" }],
    ]);
    const updates: unknown[] = [];
    const result = await haft.execute(
      "seeds",
      { a: "x" },
      { id: "c", onUpdate: (update) => void updates.push(update) },
    );
    expect(result).toMatchObject({ content: [{ text: "c x false" }], details: 1 });
    expect(updates).toHaveLength(1);
    expect(await haft.execute("seeds", {})).toMatchObject({ error: { code: "invalid_input" } });
  });

  test("that fails half-way leaves no tools behind, and removes no others", async () => {
    const haft = createHaft({ tools: [definition("host")] });
    await haft.tools.install(plugin((api) => void api.registerTool(definition("stable"))));
    const half = plugin(async (api) => {
      api.registerTool(definition("one"));
      api.registerTool(definition("stable", { version: "2.0.0" }));
      await Promise.resolve();
      throw new Error("half-way");
    });
    await expect(haft.tools.install(half)).rejects.toThrow("half-way");
    expect(haft.tools.registry.names()).toEqual(["host", "stable"]);
    expect(haft.tools.registry.versions("stable").map(({ version }) => version)).toEqual(["1.0.0"]);
  });

  test("cannot take a name that is in use, nor one that reads the same", async () => {
    const haft = createHaft({
      tools: [createTool({ ...definition("read"), origin: { type: "builtin" }, aliases: ["cat"] })],
    });
    for (const bad of [
      definition("read"),
      definition("read", { version: "9.0.0" }),
      definition("cat"),
      definition("x", { aliases: ["read"] }),
      definition("Read"),
    ]) {
      await expect(haft.tools.install(plugin((api) => void api.registerTool(bad)))).rejects.toThrow(TypeError);
    }
    expect(haft.tools.registry.names()).toEqual(["read"]);
    expect(await haft.execute("Read")).toMatchObject({ details: "read ran" });
  });

  test("may register only the tools that its manifest lists, if it lists any", async () => {
    const haft = createHaft();
    const tools = (...names: string[]) => ({ tools: names });
    await expect(
      haft.tools.install(plugin((api) => void api.registerTool(definition("b")), tools("a"))),
    ).rejects.toThrow(/"acme" registers "b", which its manifest does not list/);
    await haft.tools.install(plugin((api) => void api.registerTool(definition("a")), tools("a")));
    await haft.tools.install(
      plugin(
        (api) =>
          void api.registerTool({ id: "by_id", description: "", parameters: [], needsApproval: false, run: () => 1 }),
        tools("by_id"),
      ),
    );
    expect(haft.tools.registry.names()).toEqual(["a", "by_id"]);
  });

  test("cannot fake its origin, also with a finished tool", async () => {
    const haft = createHaft();
    const [tool] = await haft.tools.install(
      plugin((api) => void api.registerTool(definition("a", { origin: { type: "builtin" } }))),
    );
    expect(tool!.origin).toEqual({ type: "plugin", plugin: "acme" });
    const finished = createTool({ ...definition("b"), origin: { type: "builtin" } });
    const [own] = await haft.tools.install(plugin((api) => void api.registerTool(finished)));
    expect(own!.origin).toEqual({ type: "plugin", plugin: "acme" });
    expect(await haft.execute("b", {})).toMatchObject({ status: "pending" });
    expect(finished.origin).toEqual({ type: "builtin" });
  });

  test("registers during register(), and never after", async () => {
    const haft = createHaft();
    let kept!: PluginApi;
    await haft.tools.install(plugin((api) => void (kept = api)));
    expect(() => kept.registerTool(definition("late"))).toThrow(/after its register/);
    expect(haft.tools.registry.names()).toEqual([]);
  });

  test.each(["", "Acme", "a b", "../x", "a".repeat(65)])("needs a valid id (%o)", async (id) => {
    await expect(createHaft().tools.install(plugin(() => {}, { id }))).rejects.toThrow(/plugin id/);
  });

  test("has its own group in policies, in addition to that of all plugins", async () => {
    for (const deny of ["group:plugin:acme", "group:plugins", "GROUP:Plugin:Acme"]) {
      const haft = createHaft({ policy: { deny: [deny] }, tools: [definition("host")] });
      await haft.tools.install(plugin((api) => void api.registerTool(definition("theirs"))));
      expect(haft.tools.list().map(({ name }) => name)).toEqual(["host"]);
      expect(await haft.execute("theirs")).toMatchObject({ error: { code: "denied" } });
    }
    const only = createHaft({ policy: { allow: ["group:plugin:acme"] }, tools: [definition("host")] });
    await only.tools.install(plugin((api) => void api.registerTool(definition("theirs"))));
    expect(only.tools.list().map(({ name }) => name)).toEqual(["theirs"]);
  });
});
