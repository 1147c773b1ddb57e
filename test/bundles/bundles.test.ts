// What bundlers make of the published files must run where there is no node_modules.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const PROGRAM = `
import { createChain, createHaft, createTool } from "haft";
import { z } from "zod";
const list = createTool({ name: "list", description: "d", kind: "readonly", parameters: [{ name: "n", type: "number" }], run: ({ n }) => ({ n: n + 1 }) });
const json = createTool({ name: "json", description: "d", kind: "readonly", parameters: { type: "object", properties: { at: { type: "string", format: "date" } }, required: ["at"] }, run: ({ at }) => at });
const zod = createTool({ name: "zod", description: "d", kind: "readonly", parameters: z.object({ to: z.string() }), run: ({ to }) => to });
const pay = createTool({ name: "pay", description: "d", permission: "confirm", parameters: [{ name: "n", type: "number" }], run: ({ n }) => n });
const haft = createHaft({ tools: [list, json, zod, pay] });
const said = [];
said.push(await haft.execute("list", { n: 1 }), await haft.execute("list", { n: "x" }), await haft.execute("json", { at: "2026-01-31" }));
said.push(await haft.execute("zod", { to: "a" }));
const asked = await haft.execute("pay", { n: 3 });
said.push(asked, await haft.approvals.approve(asked.pending.id, "ann"));
haft.register(createChain({ name: "twice", description: "d", parameters: z.object({ n: z.number() }), steps: [{ tool: "list" }, { tool: "list" }] }));
said.push(await haft.execute("twice", { n: 1 }));
console.log(JSON.stringify(said.map(({ status, details }) => [status, details])));
console.log(JSON.stringify(zod.getFunctionDeclaration().parameters.properties));
await haft.shutdown();
`;
const SAID = [
  '[["completed",{"n":2}],["failed",null],["completed","2026-01-31"],["completed","a"],["pending",null],["completed",3],["completed",{"n":3}]]',
  '{"to":{"type":"string"}}',
].join("\n");

const folder = temporaryFolder("haft-bundles-");

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, "scripts", "build.mjs")], { cwd: ROOT });
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  writeFileSync(join(folder, "define.mjs"), 'import { createTool } from "haft"; globalThis.create = createTool;');
}, 120_000);

const alias = { haft: join(ROOT, "dist", "index.js"), zod: join(ROOT, "node_modules", "zod") };

/** Copies the bundle away from every node_modules, and runs it. */
function runAway(bundle: string, file: string): string {
  const away = temporaryFolder("haft-bundle-away-");
  cpSync(bundle, away, { recursive: true });
  return execFileSync(process.execPath, [join(away, file)], { cwd: away, encoding: "utf8" }).trim();
}

describe("rolldown", () => {
  async function bundle(entry: string, options: { minify?: boolean } = {}): Promise<string> {
    const out = join(folder, `rolldown-${entry}`);
    const input = join(folder, `${entry}.mjs`);
    const built = await rolldown({ input, platform: "node", logLevel: "silent", resolve: { alias } });
    await built.write({ dir: out, format: "esm", entryFileNames: "[name].mjs", ...options });
    await built.close();
    return out;
  }

  test("a program with tools, an approval and a chain runs", async () => {
    expect(runAway(await bundle("program"), "program.mjs")).toBe(SAID);
  });

  test("createTool alone takes at most 40 kB, without imports of Node", async () => {
    const out = await bundle("define", { minify: true });
    const files = readdirSync(out);
    expect(files).toEqual(["define.mjs"]);
    const code = readFileSync(join(out, "define.mjs"), "utf8");
    expect(code.length).toBeLessThanOrEqual(40_000);
    expect(code).not.toMatch(/from\s*"node:/);
  });
});

test("a tool of a bundle without a validator runs in the runtime of another copy", async () => {
  writeFileSync(
    join(folder, "tools.mjs"),
    `import { createTool } from "haft";
export const half = createTool({ name: "half", description: "d", kind: "readonly", parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] }, run: ({ n }) => n / 2 });
export const slow = createTool({ name: "slow", description: "d", kind: "readonly", parameters: { type: "object", properties: { s: { type: "string", pattern: "^(a+)+$" } } }, run: () => "ran" });`,
  );
  const built = await rolldown({
    input: join(folder, "tools.mjs"),
    platform: "node",
    logLevel: "silent",
    resolve: { alias },
  });
  await built.write({ file: join(folder, "bundled-tools.mjs"), format: "esm" });
  await built.close();
  writeFileSync(
    join(folder, "host.mjs"),
    `import { createHaft } from ${JSON.stringify(pathToFileURL(alias.haft).href)};
import { half, slow } from "./bundled-tools.mjs";
const haft = createHaft({ tools: [half, slow] });
const said = [await haft.execute("half", { n: 4 }), await haft.execute("half", { n: "x" })];
// Its pattern takes exponential time: nobody has checked the schema before.
said.push(await haft.execute("slow", { s: "a".repeat(40) + "b" }));
console.log(JSON.stringify(said.map(({ details, error }) => details ?? error.message.split("\\n")[0])));
await haft.shutdown();`,
  );
  const said = execFileSync(process.execPath, [join(folder, "host.mjs")], { cwd: folder, encoding: "utf8" });
  expect(said.trim()).toMatch(/^\[2,"[^"]*must be a number[^"]*","[^"]*JSON Schema cannot be used/);
});

test("vite makes a program that runs", async () => {
  const { build } = await import("vite");
  const out = join(folder, "vite");
  await build({
    configFile: false,
    logLevel: "silent",
    root: folder,
    resolve: { alias },
    ssr: { noExternal: true },
    build: {
      ssr: join(folder, "program.mjs"),
      outDir: out,
      minify: true,
      rolldownOptions: { output: { entryFileNames: "program.mjs" } },
    },
  });
  expect(runAway(out, "program.mjs")).toBe(SAID);
});

test.each(["formats", "client"])("haft/%s builds for browsers, without Node", async (entry) => {
  const built = await rolldown({ input: join(ROOT, "dist", `${entry}.js`), platform: "browser", logLevel: "silent" });
  const { output } = await built.generate({ format: "esm" });
  await built.close();
  const files = new Set(output.map(({ fileName }) => fileName));
  const imported = output.flatMap((file) => (file.type === "chunk" ? [...file.imports, ...file.dynamicImports] : []));
  expect(imported.filter((name) => !files.has(name))).toEqual([]);
});
