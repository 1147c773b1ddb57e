import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkCircles } from "./check-circles.ts";
import { type Architecture, checkImports, checkLightness, type Place, type SourceFile } from "./check-imports.ts";
import { STORE_ENGINES } from "../../src/store/store-engines.ts";
import { checkEngines, type EngineRules } from "./check-engines.ts";
import { checkCounts, checkFileForm, type FormRules } from "./check-files.ts";
import { readEntries, ROOT } from "./read-entries.ts";

/** The parts of layer 3 do not import each other's values. */
const PARTS = ["gate", "models", "mcp", "jobs", "code", "tools/*"];

/** Imports run down the layers; within a layer, only what the row names. */
const PLACES: readonly Place[] = [
  { place: "cli", layer: 8, mayImport: ["below"], builtins: "all" },
  { place: "server.ts", layer: 7, mayImport: ["below", "server"], builtins: "harmless" },
  { place: "server", layer: 7, mayImport: ["below"], builtins: "all" },
  { place: "client.ts", layer: 6, mayImport: ["api", "contracts"], builtins: "none" },
  // Before `api`: capabilities use the handlers of their resources.
  { place: "api/handlers", layer: 5, mayImport: ["below", "runtime.ts"], builtins: "harmless" },
  { place: "api", layer: 6, mayImport: ["below"], builtins: "all" },
  { place: "host.ts", layer: 5, mayImport: ["below", "runtime.ts", "workspace.ts", "capabilities"], builtins: "all" },
  {
    place: "capabilities",
    layer: 5,
    mayImport: ["below", "runtime.ts", "workspace.ts", "api/handlers"],
    builtins: "all",
  },
  { place: "agent.ts", layer: 5, mayImport: ["below", "runtime.ts", "capabilities"], builtins: "harmless" },
  { place: "formats.ts", layer: 5, mayImport: ["below"], builtins: "harmless" },
  { place: "index.ts", layer: 5, mayImport: ["below", "runtime.ts"], builtins: "harmless" },
  { place: "compat.ts", layer: 5, mayImport: ["below", "runtime.ts", "compat"], builtins: "harmless" },
  { place: "compat", layer: 5, mayImport: ["below"], builtins: "none" },
  { place: "testing", layer: 5, mayImport: ["below", "runtime.ts"], builtins: "all" },
  { place: "haft.ts", layer: 5, mayImport: ["below", "types of workspace.ts"], builtins: "none" },
  {
    place: "runtime.ts",
    layer: 5,
    mayImport: ["below", "workspace.ts", "runtime-settings.ts", "types of haft.ts"],
    builtins: "all",
  },
  { place: "runtime-settings.ts", layer: 5, mayImport: ["below", "types of haft.ts"], builtins: "none" },
  { place: "workspace.ts", layer: 5, mayImport: ["below"], builtins: "all" },
  // Of core only files that import nothing, such as lists of names: contract.test.ts checks it.
  { place: "contracts", layer: 4, mayImport: ["core"], builtins: "none" },
  {
    place: "config",
    layer: 4,
    mayImport: ["io", "core", "schema", "tools/built-in-tools.ts", ...PARTS.map((part) => `types of ${part}`)],
    builtins: "all",
  },
  {
    place: "store",
    layer: 4,
    // What all queues share (the local worker, schedules) is in jobs/.
    mayImport: ["calls", "io", "core", "schema", "jobs", "contracts", ...PARTS.map((part) => `types of ${part}`)],
    builtins: "all",
  },
  // Before `tools/*`: facts of the built-in tools for those that may not import the tools.
  { place: "tools/built-in-tools.ts", layer: 2, mayImport: ["types of core"], builtins: "none" },
  { place: "tools/tool-families.ts", layer: 4, mayImport: ["below"], builtins: "none" },
  ...PARTS.map((place): Place => ({
    place,
    layer: 3,
    mayImport: ["calls", "io", "core", "schema", "tools/built-in-tools.ts"],
    builtins: place === "code" ? "all" : "harmless",
  })),
  { place: "calls", layer: 2, mayImport: ["io", "core", "schema"], builtins: "harmless" },
  { place: "io", layer: 2, mayImport: ["core"], builtins: "all" },
  { place: "core", layer: 1, mayImport: ["schema"], builtins: "none" },
  { place: "schema", layer: 1, mayImport: [], builtins: "none" },
];

const ARCHITECTURE: Architecture = {
  places: PLACES,
  guarded: [
    "node:fs",
    "node:fs/promises",
    "node:child_process",
    "node:cluster",
    "node:net",
    "node:tls",
    "node:dgram",
    "node:dns",
    "node:dns/promises",
    "node:http",
    "node:https",
    "node:http2",
  ],
  heavy: [
    "zod",
    "zod-to-json-schema",
    "typebox",
    "@sinclair/typebox",
    "valibot",
    "@valibot/*",
    "arktype",
    "@modelcontextprotocol/*",
    "@opentelemetry/*",
    "ai",
    "@ai-sdk/*",
    "@photostructure/sqlite",
    "pg",
    "kysely",
    "bullmq",
    "playwright-core",
    "sharp",
    "unpdf",
    "picomatch",
    "iconv-lite",
    "chardet",
    "diff",
  ],
  lightEntries: ["src/index.ts"],
};

const FORM: FormRules = {
  entries: [...readEntries().map(({ source }) => source), "src/contracts/index.ts"],
  vagueNames: ["utils", "util", "helpers", "helper", "common", "types", "misc", "shared"],
  maxLines: 800,
  maxFilesPerFolder: 30,
  maxFiles: 740,
  isData: /[.-]data\.ts$/,
};

const ENGINE_RULES: EngineRules = {
  names: STORE_ENGINES.flatMap(({ name, title, schemes }) => [name, title.toLowerCase(), ...schemes]),
  own: [...STORE_ENGINES.map(({ name }) => `src/store/${name}/`), "src/store/store-engines.ts"],
  // The state of earlier versions is a SQLite file.
  importers: ["src/store/open-state-folder.ts"],
  // Of sandboxes, of stored programs, of searches and of queues.
  others: ["src/io/", "src/code/", "src/tools/", "src/store/bullmq/"],
};

/** Tests may wire what sources may not, and a table of cases may be long. */
const NOT_A_SOURCE = /\.(test|types|suite|fixture|bench)\.ts$/;

function readSources(): SourceFile[] {
  return readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !NOT_A_SOURCE.test(name))
    .map((name) => `src/${name.replaceAll("\\", "/")}`)
    .sort()
    .map((path) => ({ path, source: readFileSync(join(ROOT, path), "utf8") }));
}

function expectNone(violations: readonly string[]): void {
  expect(violations.join("\n"), `${violations.length} violations`).toBe("");
}

describe("the sources of Haft", () => {
  const sources = readSources();

  test("are there to be looked at", () => {
    expect(sources.map(({ path }) => path)).toContain("src/core/error.ts");
  });

  test("import only what the layer table allows", () => expectNone(checkImports(sources, ARCHITECTURE)));

  test("load no heavy package when the package is imported", () => expectNone(checkLightness(sources, ARCHITECTURE)));

  test("have clear names, at most 800 lines, and no inner index.ts", () => {
    expectNone(checkFileForm(sources, FORM));
  });

  test("of these folders have no circle", () =>
    expectNone(checkCircles(sources, ["calls", "capabilities", "cli", "mcp/server"])));

  test("leave to each store engine what only it knows", () => expectNone(checkEngines(sources, ENGINE_RULES)));

  test("are few enough per folder and in all", () => expectNone(checkCounts(sources, FORM)));
});

describe("the architecture check", () => {
  const check = (path: string, source: string) => checkImports([{ path, source }], ARCHITECTURE);

  test("finds every form of a forbidden import, with its line and the rule", () => {
    const source = [
      'import { run } from "../gate/run.ts";',
      'import type { Approval } from "../calls/approval.ts";',
      'export { read } from "../io/files/read.ts";',
      'export * from "../store/sqlite.ts";',
      'const text = `import "../never/seen.ts"`; // import "../nor/this.ts"',
      'const late = await import("../jobs/queue.ts");',
      'type Late = import("../models/agent/loop.ts").Loop;',
      'import { readFile } from "fs/promises";',
      'import { run as own } from "./own.ts";',
      'import { parse } from "../schema/parse.ts";',
    ].join("\n");
    expect(check("src/core/made-up.ts", source)).toEqual([
      'src/core/made-up.ts:1 imports "../gate/run.ts": imports run down, and gate is above core',
      'src/core/made-up.ts:2 imports "../calls/approval.ts": imports run down, and calls is above core',
      'src/core/made-up.ts:3 imports "../io/files/read.ts": imports run down, and io is above core',
      'src/core/made-up.ts:4 imports "../store/sqlite.ts": imports run down, and store is above core',
      'src/core/made-up.ts:6 imports "../jobs/queue.ts": imports run down, and jobs is above core',
      'src/core/made-up.ts:7 imports "../models/agent/loop.ts": imports run down, and models is above core',
      'src/core/made-up.ts:8 imports "fs/promises": core uses no built-in module of Node',
    ]);
  });

  test("keeps the parts of layer 3, and the families of tools, apart", () => {
    const rule = (here: string, there: string) =>
      `${here} and ${there} are in the same layer and do not import each other`;
    expect(check("src/gate/a.ts", 'import "../models/b.ts";')).toEqual([
      `src/gate/a.ts:1 imports "../models/b.ts": ${rule("gate", "models")}`,
    ]);
    expect(check("src/tools/file/a.ts", 'import "../web/b.ts"; import "./c.ts"; import "../../core/d.ts";')).toEqual([
      `src/tools/file/a.ts:1 imports "../web/b.ts": ${rule("tools/file", "tools/web")}`,
    ]);
  });

  test("gives the store the types of a part and none of its values", () => {
    expect(check("src/store/a.ts", 'import type { SessionStore } from "../models/agent/session-store.ts";')).toEqual(
      [],
    );
    expect(check("src/store/a.ts", 'import { run } from "../models/agent/run.ts";')).toEqual([
      'src/store/a.ts:1 imports "../models/agent/run.ts": store may import only types from models',
    ]);
  });

  test("lets only io/ and the outer layers use the machine", () => {
    const source = 'import { spawn } from "node:child_process"; import { join } from "node:path"; await fetch("x");';
    expect(check("src/tools/web/a.ts", source)).toEqual([
      'src/tools/web/a.ts:1 imports "node:child_process": tools/web may not open files, start processes or connect; io/ does',
      "src/tools/web/a.ts:1 calls the global fetch: only io/net/ connects; take its guarded fetch as an argument",
    ]);
    expect(check("src/io/net/a.ts", source)).toEqual([]);
    expect(check("src/tools/web/b.ts", "export const get = (url: string, { fetch }: Net) => fetch(url);")).toEqual([]);
  });

  test("refuses a folder that is not in the table, and the package's own name", () => {
    expect(check("src/extras/a.ts", "")).toEqual(["src/extras/a.ts:1 is in no folder of the layer table"]);
    expect(check("src/core/a.ts", 'import "../../test/b.ts"; import "haft";')).toEqual([
      'src/core/a.ts:1 imports "../../test/b.ts": the target is in no folder of the layer table',
      'src/core/a.ts:1 imports "haft": sources import each other by path, not by package name',
    ]);
  });

  test("names the way on which a heavy package is loaded, and passes types and late imports", () => {
    const files = [
      { path: "src/index.ts", source: 'export { a } from "./core/a.ts"; import type { z } from "zod";' },
      { path: "src/core/a.ts", source: 'import "zod/v4"; export const a = () => import("valibot");' },
      { path: "src/core/b.ts", source: 'import "arktype";' },
    ];
    expect(checkLightness(files, ARCHITECTURE)).toEqual([
      'src/core/a.ts:1 loads "zod/v4" with src/index.ts (src/index.ts > src/core/a.ts): import it when first used',
    ]);
  });

  test("names a circle once, by its shortest way, also if types go round", () => {
    const files = [
      { path: "src/cli/a.ts", source: 'import "./b.ts"; import "../core/x.ts";' },
      { path: "src/cli/b.ts", source: 'export * from "./c.ts";' },
      { path: "src/cli/c.ts", source: 'import type { A } from "./a.ts"; import "./d.ts";' },
      { path: "src/cli/d.ts", source: "" },
    ];
    const rule = "files of cli/ do not import each other in a circle";
    expect(checkCircles(files, ["cli", "calls"])).toEqual([
      `src/cli/a.ts > src/cli/b.ts > src/cli/c.ts > src/cli/a.ts: ${rule}`,
    ]);
  });

  test("finds every form of a decision by the name of a store engine", () => {
    const source = [
      'if (database.engine === "sqlite") checkpoint();',
      "const { engine } = database; const isFile = engine !== other;",
      "switch (store.database.engine) {}",
      'if (database.engine.startsWith("sq")) checkpoint();',
      "const search = SEARCHES[database.engine];",
      "if (/^sq/.test(database.engine)) checkpoint();",
      "if (kind === `Postgres`) vacuum();",
      'import { SqliteDatabase } from "./sqlite/sqlite.ts";',
      'const { openPostgres } = await import("./postgres/postgres.ts");',
      "const report = { engine: database.engine, ...engineNamed(database.engine), text: `on ${database.engine}` };",
      "const opened = await engine.open(place); if (!engine) throw missing();",
    ].join("\n");
    const found = checkEngines([{ path: "src/store/made-up.ts", source }], ENGINE_RULES);
    const lines = found.map((problem) => Number(/:(\d+) /.exec(problem)?.[1]));
    expect([...new Set(lines)].sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(checkEngines([{ path: "src/store/sqlite/made-up.ts", source }], ENGINE_RULES)).toEqual([]);
  });

  test("finds vague names, wrong case, inner barrels and long files", () => {
    const files = [
      { path: "src/core/utils.ts", source: "" },
      { path: "src/core/myTool.ts", source: "" },
      { path: "src/core/index.ts", source: "" },
      { path: "src/core/long.ts", source: "\n".repeat(801) },
      { path: "src/core/stop-words-data.ts", source: "\n".repeat(801) },
      { path: "src/testing/index.ts", source: "\n".repeat(800) },
    ];
    expect(checkFileForm(files, FORM)).toEqual([
      'src/core/utils.ts:1 "utils" is vague: name the file after what it does or is',
      'src/core/myTool.ts:1 names are in kebab-case: "myTool.ts"',
      `src/core/index.ts:1 index.ts is only for the entry points of the package: ${FORM.entries.join(", ")}`,
      "src/core/long.ts:801 has 801 lines, at most 800: split it",
    ]);
  });
});
