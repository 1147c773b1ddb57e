import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { openConfigFolders } from "./config-folders.fixture.ts";
import { loadPlugins } from "./plugins.ts";
import { trust } from "./trust.ts";

const plugin = (id: string, tool: string, more = "") => `${more}
  export default {
    manifest: { id: "${id}" },
    register(api) {
      api.registerTool({ name: "${tool}", description: "x", parameters: {}, needsApproval: false, execute: async () => ({ content: [{ type: "text", text: "${tool} ran" }] }) });
    },
  };`;

const CONFIG = "plugins: [./acme, ./typed.ts, { from: ./off, enabled: false }]";

function open() {
  const folders = openConfigFolders({
    "haft.config.yml": CONFIG,
    "typed.ts": plugin("typed", "typed_tool", "const unused: number = 1; void unused;"),
  });
  const mark = (name: string) => join(folders.folder, `${name}-ran`);
  const marked = (name: string) =>
    `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(mark(name))}, "");`;
  folders.write({
    "acme/package.json": '{"main": "./main.js", "type": "module"}',
    "acme/main.js": plugin("acme", "acme_tool", `import "./lib.js"; ${marked("acme")}`),
    "acme/lib.js": "export {};",
    "off/index.js": plugin("off", "off_tool", marked("off")),
  });
  return { ...folders, ran: (name: string) => existsSync(mark(name)) };
}

describe("plugins of a folder", () => {
  test("are loaded only when the folder is trusted", async () => {
    const folders = open();
    expect(await loadPlugins(await folders.load())).toEqual({ plugins: [], failures: [] });
    expect(folders.ran("acme")).toBe(false);

    await trust(folders.folder, folders);
    const { plugins, failures } = await loadPlugins(await folders.load());
    expect(failures).toEqual([]);
    const haft = createHaft();
    for (const each of plugins) await haft.tools.install(each.plugin);
    expect(haft.tools.list().map(({ name, origin }) => [name, origin])).toEqual([
      ["acme_tool", { type: "plugin", plugin: "acme" }],
      ["typed_tool", { type: "plugin", plugin: "typed" }],
    ]);
    expect(await haft.execute("acme_tool")).toMatchObject({ display: "acme_tool ran" });
    expect(folders.ran("acme")).toBe(true);
  });

  test("import every entry point of zod, without node_modules", async () => {
    const folders = openConfigFolders({
      "haft.config.yml": "plugins: [./schemas.ts]",
      "schemas.ts": `import { z } from "zod/v4"; import * as mini from "zod/mini"; import { z as top } from "zod";
        export default { manifest: { id: [z, mini, top].every((each) => typeof each.string === "function") ? "found" : "missing" }, register() {} };`,
    });
    await trust(folders.folder, folders);
    const { plugins, failures } = await loadPlugins(await folders.load());
    expect(failures).toEqual([]);
    expect(plugins.map(({ plugin: { manifest } }) => manifest.id)).toEqual(["found"]);
  });

  test("that are disabled are never imported", async () => {
    const folders = open();
    await trust(folders.folder, folders);
    await loadPlugins(await folders.load());
    expect(folders.ran("off")).toBe(false);
    folders.write({
      "~/.config/haft/config.yml": `plugins: [{ from: ${join(folders.folder, "acme")}, enabled: false }]`,
    });
    const { plugins } = await loadPlugins(await folders.load());
    expect(plugins.map(({ plugin: { manifest } }) => manifest.id)).toEqual(["typed"]);
  });

  test("are loaded again with their current content, once it is trusted", async () => {
    const folders = open();
    await trust(folders.folder, folders);
    await loadPlugins(await folders.load());
    folders.write({ "typed.ts": plugin("typed2", "typed_tool") });
    const changed = await folders.load();
    expect(changed.plugins.map(({ from }) => from)).not.toContain("./typed.ts");
    await trust(folders.folder, folders);
    const { plugins } = await loadPlugins(await folders.load());
    expect(plugins.map(({ plugin: { manifest } }) => manifest.id)).toEqual(["acme", "typed2"]);
  });

  test("register only what the configuration and their manifest both allow", async () => {
    const folders = openConfigFolders({
      "~/.config/haft/config.yml": "plugins: [{ from: ./p, tools: [other] }]",
      "~/.config/haft/p/index.js": plugin("p", "tool"),
    });
    const { plugins } = await loadPlugins(await folders.load());
    await expect(createHaft().tools.install(plugins[0]!.plugin)).rejects.toThrow(
      'registers "tool", which its manifest does not list',
    );
  });
});

describe("a plugin that fails", () => {
  test("does not affect the others: it throws, hangs, is not a plugin, or is missing", async () => {
    const names = ["throws", "hangs", "nothing", "gone", "no-such-package-anywhere", "fine"];
    const folders = openConfigFolders({
      "~/.config/haft/config.yml": `plugins: [./throws.mjs, ./hangs.mjs, ./nothing.mjs, ./gone, no-such-package-anywhere, ./fine]`,
      "~/.config/haft/throws.mjs": "throw new Error('oh no')",
      "~/.config/haft/hangs.mjs": "await new Promise(() => {}); export default {};",
      "~/.config/haft/nothing.mjs": "export default 5;",
      "~/.config/haft/fine/index.mjs": "export default { register() {} };",
      "~/.config/haft/fine/haft.plugin.json": '{"id": "fine"}',
    });
    const clock = createFakeClock();
    const loading = loadPlugins(await folders.load(), { timeoutMs: 1000, clock });
    let isDone = false;
    void loading.finally(() => (isDone = true));
    while (!isDone) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await clock.advance(10);
    }
    const { plugins, failures } = await loading;
    expect(failures.map(({ reference }) => reference.from.replace(/^\.\//, "").replace(".mjs", ""))).toEqual(
      names.slice(0, -1),
    );
    expect(failures[0]!.message).toContain("oh no");
    expect(failures[1]!.message).toContain("did not load within 1000 ms");
    expect(failures[2]!.message).toContain("no manifest");
    expect(plugins).toMatchObject([{ plugin: { manifest: { id: "fine" } } }]);
  });
});
