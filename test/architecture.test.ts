import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type Architecture,
  checkImports,
  checkLightness,
  type Place,
  type SourceFile,
} from "./house/check-architecture.ts";
import { checkFileForm, type FormRules } from "./house/check-file-form.ts";
import { readEntries, ROOT } from "./house/read-entries.ts";

const PRIMITIVES = ["files", "shell", "net"];
const PILLARS = ["executor", "policy", "jobs", "formats", "mcp", "agent", "tools/*"];

/** The house. Imports run down; what stands on one floor does not know its neighbours. */
const PLACES: readonly Place[] = [
  { place: "cli", floor: 8, mayImport: ["below"], builtins: "all" },
  { place: "tour", floor: 8, mayImport: ["below"], builtins: "all" },
  { place: "http", floor: 7, mayImport: ["below"], builtins: "all" },
  { place: "server.ts", floor: 7, mayImport: ["http", "below"], builtins: "harmless" },
  { place: "client", floor: 7, mayImport: ["types of http"], builtins: "none" },
  { place: "agents", floor: 6, mayImport: ["below", "runtime.ts"], builtins: "harmless" },
  { place: "agents.ts", floor: 6, mayImport: ["below", "agents"], builtins: "harmless" },
  { place: "host", floor: 6, mayImport: ["below", "runtime.ts", "workspace.ts", "agents"], builtins: "all" },
  { place: "host.ts", floor: 6, mayImport: ["below", "runtime.ts", "workspace.ts", "host"], builtins: "all" },
  { place: "index.ts", floor: 6, mayImport: ["below", "runtime.ts"], builtins: "harmless" },
  { place: "workspace.ts", floor: 6, mayImport: ["below"], builtins: "all" },
  { place: "testing", floor: 6, mayImport: ["below", "runtime.ts"], builtins: "all" },
  { place: "runtime.ts", floor: 6, mayImport: ["below", "workspace.ts"], builtins: "all" },
  {
    place: "config",
    floor: 5,
    mayImport: ["files", "shell", "core", "schema", ...PILLARS.map((pillar) => `types of ${pillar}`)],
    builtins: "all",
  },
  {
    place: "store",
    floor: 5,
    // What all queues share (states, failures, the local worker) stands with their interface.
    mayImport: ["files", "core", "jobs", ...[...PILLARS, "sandbox"].map((pillar) => `types of ${pillar}`)],
    builtins: "all",
  },
  ...PILLARS.map((place): Place => ({
    place,
    floor: 4,
    mayImport: [...PRIMITIVES, "core", "schema"],
    builtins: "harmless",
  })),
  { place: "sandbox", floor: 4, mayImport: [...PRIMITIVES, "core", "schema"], builtins: "all" },
  ...PRIMITIVES.map((place): Place => ({ place, floor: 3, mayImport: ["core"], builtins: "all" })),
  { place: "core", floor: 2, mayImport: ["schema"], builtins: "none" },
  { place: "schema", floor: 1, mayImport: [], builtins: "none" },
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
    "libsql",
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
  entries: readEntries().map(({ source }) => source),
  vagueNames: ["utils", "util", "helpers", "helper", "common", "types", "misc", "shared"],
  longestFile: 400,
  isData: /\/data\/|[.-]data\.ts$/,
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

  test("import only what the table of floors allows", () => expectNone(checkImports(sources, ARCHITECTURE)));

  test("load no heavy package when the package is imported", () => expectNone(checkLightness(sources, ARCHITECTURE)));

  test("have names that say something, a bounded length, and no inner index.ts", () => {
    expectNone(checkFileForm(sources, FORM));
  });
});

describe("the architecture check", () => {
  const check = (path: string, source: string) => checkImports([{ path, source }], ARCHITECTURE);

  test("finds every form of a forbidden import, with its line and the rule", () => {
    const source = [
      'import { run } from "../executor/run.ts";',
      'import type { Rule } from "../policy/rule.ts";',
      'export { read } from "../files/read.ts";',
      'export * from "../store/sqlite.ts";',
      'const text = `import "../never/seen.ts"`; // import "../nor/this.ts"',
      'const late = await import("../jobs/queue.ts");',
      'type Late = import("../agent/loop.ts").Loop;',
      'import { readFile } from "fs/promises";',
      'import { run as own } from "./own.ts";',
      'import { parse } from "../schema/parse.ts";',
    ].join("\n");
    expect(check("src/core/made-up.ts", source)).toEqual([
      'src/core/made-up.ts:1 imports "../executor/run.ts": imports run down, and executor stands above core',
      'src/core/made-up.ts:2 imports "../policy/rule.ts": imports run down, and policy stands above core',
      'src/core/made-up.ts:3 imports "../files/read.ts": imports run down, and files stands above core',
      'src/core/made-up.ts:4 imports "../store/sqlite.ts": imports run down, and store stands above core',
      'src/core/made-up.ts:6 imports "../jobs/queue.ts": imports run down, and jobs stands above core',
      'src/core/made-up.ts:7 imports "../agent/loop.ts": imports run down, and agent stands above core',
      'src/core/made-up.ts:8 imports "fs/promises": core uses no built-in module of Node',
    ]);
  });

  test("keeps pillars, and the families of tools, apart", () => {
    const rule = (here: string, there: string) =>
      `${here} and ${there} stand on the same floor and do not know each other`;
    expect(check("src/executor/a.ts", 'import "../policy/b.ts";')).toEqual([
      `src/executor/a.ts:1 imports "../policy/b.ts": ${rule("executor", "policy")}`,
    ]);
    expect(check("src/tools/file/a.ts", 'import "../web/b.ts"; import "./c.ts"; import "../../core/d.ts";')).toEqual([
      `src/tools/file/a.ts:1 imports "../web/b.ts": ${rule("tools/file", "tools/web")}`,
    ]);
  });

  test("gives a store the types of a pillar and nothing else of it", () => {
    expect(check("src/store/a.ts", 'import type { SessionStore } from "../agent/session-store.ts";')).toEqual([]);
    expect(check("src/store/a.ts", 'import { run } from "../agent/run.ts";')).toEqual([
      'src/store/a.ts:1 imports "../agent/run.ts": store may import only types from agent',
    ]);
  });

  test("lets only the primitives and the outer floors touch the machine", () => {
    const source = 'import { spawn } from "node:child_process"; import { join } from "node:path"; await fetch("x");';
    expect(check("src/tools/web/a.ts", source)).toEqual([
      'src/tools/web/a.ts:1 imports "node:child_process": tools/web may not touch the machine itself; files/, shell/ and net/ do',
      "src/tools/web/a.ts:1 calls the global fetch: only net/ connects; take its guarded fetch as an argument",
    ]);
    expect(check("src/net/a.ts", source)).toEqual([]);
    expect(check("src/tools/web/b.ts", "export const get = (url: string, { fetch }: Net) => fetch(url);")).toEqual([]);
  });

  test("refuses a place that is not in the table, and the package's own name", () => {
    expect(check("src/extras/a.ts", "")).toEqual(["src/extras/a.ts:1 has no place in the table of floors"]);
    expect(check("src/core/a.ts", 'import "../../test/b.ts"; import "haft";')).toEqual([
      'src/core/a.ts:1 imports "../../test/b.ts": the target has no place in the table of floors',
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

  test("finds vague names, wrong case, inner barrels and long files", () => {
    const files = [
      { path: "src/core/utils.ts", source: "" },
      { path: "src/core/myTool.ts", source: "" },
      { path: "src/core/index.ts", source: "" },
      { path: "src/core/long.ts", source: "\n".repeat(401) },
      { path: "src/core/stop-words-data.ts", source: "\n".repeat(401) },
      { path: "src/testing/index.ts", source: "\n".repeat(400) },
    ];
    expect(checkFileForm(files, FORM)).toEqual([
      'src/core/utils.ts:1 "utils" says nothing: name the file by what it does or is',
      'src/core/myTool.ts:1 names are in kebab-case: "myTool.ts"',
      `src/core/index.ts:1 index.ts stands only at the entry points of the package: ${FORM.entries.join(", ")}`,
      "src/core/long.ts:401 has 401 lines, at most 400: split it by idea",
    ]);
  });
});
