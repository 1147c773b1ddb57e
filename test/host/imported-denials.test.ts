// No denial of another program is dropped: every tool of theirs that does what a tool here does, in every importer.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openHaft } from "haft/host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ruleSourcesOf } from "../../src/capabilities/runtime-options.ts";
import { openConfigFolders } from "../../src/config/config-folders.fixture.ts";
import type { LoadedConfig } from "../../src/config/load-config.ts";
import { trust } from "../../src/config/trust.ts";
import type { AnyTool } from "../../src/core/tool.ts";
import { RuleSet } from "../../src/gate/permit/rules/rule-set.ts";
import { isVisible } from "../../src/gate/permit/visible-tools.ts";
import { BUILT_IN_TOOLS, toolsSameAs } from "../../src/tools/built-in-tools.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let host: Awaited<ReturnType<typeof openHaft>>;
let tools: Map<string, AnyTool>;

beforeAll(async () => {
  const root = temporaryFolder("haft-denials-");
  mkdirSync(join(root, "work"));
  host = await openHaft(join(root, "work"), { home: root, env: {}, connectsMcp: false });
  tools = new Map(host.haft.tools.registry.names().map((name) => [name, host.haft.tools.registry.get(name)!]));
});
afterAll(() => host?.close());

async function load(files: Record<string, unknown>): Promise<LoadedConfig> {
  const folders = openConfigFolders(
    Object.fromEntries(Object.entries(files).map(([name, value]) => [name, JSON.stringify(value)])),
  );
  await trust(folders.folder, folders);
  return folders.load();
}

/** The tools that still run something after a denial: neither hidden, nor denied whole, nor judged by what they touch. */
function left(config: LoadedConfig, names: readonly string[]): string[] {
  const rules = new RuleSet(ruleSourcesOf(config));
  const layers = config.sources.flatMap(({ policy }) => policy ?? []);
  return names.filter((name) => {
    const tool = tools.get(name);
    if (!tool || !isVisible(tool, layers) || rules.deniesAll(tool)) return false;
    return !rules.compiled().some((rule) => rule.list === "deny" && rule.isBare && rule.appliesTo(tool));
  });
}

describe("a denial of OpenCode", () => {
  const known = [...toolsSameAs("opencode")];

  test.each(known)("permission.%s: deny leaves none of %j", async (key, names) => {
    expect(left(await load({ "opencode.json": { permission: { [key]: "deny" } } }), names)).toEqual([]);
  });

  test.each(known)("permission.%s: { *: deny } and tools.%s: false leave none", async (key, names) => {
    expect(left(await load({ "opencode.json": { permission: { [key]: { "*": "deny" } } } }), names)).toEqual([]);
    expect(left(await load({ "opencode.json": { tools: { [key]: false } } }), names)).toEqual([]);
  });

  test("of everything leaves nothing that OpenCode has", async () => {
    const config = await load({ "opencode.json": { permission: "deny" } });
    expect(
      left(
        config,
        known.flatMap(([, names]) => names),
      ),
    ).toEqual([]);
  });
});

test.each([...toolsSameAs("gemini")])("excludeTools %s of Gemini leaves none of %j", async (key, names) => {
  expect(left(await load({ ".gemini/settings.json": { excludeTools: [key] } }), names)).toEqual([]);
  expect(left(await load({ ".gemini/settings.json": { tools: { exclude: [key] } } }), names)).toEqual([]);
});

test("every name of a tool denies it, in rules of Claude Code and in lists of tools", async () => {
  const missed: string[] = [];
  for (const { name } of BUILT_IN_TOOLS) {
    const tool = tools.get(name);
    if (!tool) continue;
    const dialects = Object.values(tool.dialects).flatMap((dialect) => dialect.name ?? []);
    const names = [
      name,
      ...tool.aliases,
      ...dialects,
      ...(tool.builtIn?.knownAs ?? []),
      ...(tool.builtIn?.partlyKnownAs ?? []),
    ];
    for (const written of new Set(names)) {
      const rules = new RuleSet([{ origin: "test", deny: [written] }]);
      // NotebookEdit is a rule about the notebooks that any tool changes, so it has a pattern.
      const isNotebook = name === "edit_notebook";
      const isDenied = rules.compiled().some((rule) => (rule.isBare || isNotebook) && rule.appliesTo(tool));
      if (!isDenied) missed.push(`rule ${written} for ${name}`);
      if (isVisible(tool, [{ deny: [written] }])) missed.push(`list ${written} for ${name}`);
    }
  }
  expect(missed).toEqual([]);
});

test("a name that means a part of a tool never allows the whole", () => {
  for (const [name, part] of [
    ["glob", "search_files"],
    ["http_request", "http_get"],
    ["process", "BashOutput"],
  ] as const) {
    expect(isVisible(tools.get(name)!, [{ allow: [part] }]), part).toBe(false);
  }
});
