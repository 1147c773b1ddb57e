// How long the compiler takes over a file of 30 tools with Zod parameters, and whether it manages at all.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findTool } from "../../scripts/run-tool.mjs";
import { ROOT } from "../../scripts/root.mjs";
import { DIST, interleave, median } from "../harness.mjs";

export const name = "types";

const TOOLS = 30;
const ROUNDS = 7;

export async function run({ report }) {
  const folder = mkdtempSync(join(tmpdir(), "haft-types-"));
  try {
    prepare(folder);
    const tools = project(folder, "tools", toolsFile());
    const zodOnly = project(
      folder,
      "zod-only",
      'import { z } from "zod";\nexport const schema = z.object({ a: z.number() });\n',
    );
    const empty = project(folder, "empty", "export {};\n");
    const wrong = project(folder, "wrong", WRONG);

    const { errors } = compile(wrong);
    if (errors.length !== 1 || !/'missing' does not exist/.test(errors[0])) {
      throw new Error(`the types of a tool's input are not inferred: ${errors[0] ?? "a wrong use compiles"}`);
    }
    const times = await interleave(
      { tools: () => compile(tools), zodOnly: () => compile(zodOnly), empty: () => compile(empty) },
      ROUNDS,
    );
    const seconds = (runs) => runs.map((one) => one.seconds);
    const { errors: found } = times.tools[0];
    report({ case: "30 tools, wall time, best", value: Math.min(...seconds(times.tools)), unit: "s", atMost: 1.5 });
    report({ case: "30 tools, wall time, median", value: median(seconds(times.tools)), unit: "s" });
    report({ case: "30 tools, errors", value: found.length, unit: "errors", atMost: 0 });
    report({ case: "Zod alone, wall time, best", value: Math.min(...seconds(times.zodOnly)), unit: "s" });
    report({ case: "an empty file, wall time, best", value: Math.min(...seconds(times.empty)), unit: "s" });
    for (const error of found.slice(0, 5)) process.stderr.write(`${error}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder that sees the packages as a user's project does. */
function prepare(folder) {
  mkdirSync(join(folder, "node_modules", "haft"), { recursive: true });
  symlinkSync(DIST, join(folder, "node_modules", "haft", "dist"), "junction");
  writeFileSync(
    join(folder, "node_modules", "haft", "package.json"),
    JSON.stringify({
      name: "haft",
      type: "module",
      exports: { types: "./dist/index.d.ts", default: "./dist/index.js" },
    }),
  );
  symlinkSync(join(ROOT, "node_modules", "zod"), join(folder, "node_modules", "zod"), "junction");
}

function project(folder, title, source) {
  writeFileSync(join(folder, `${title}.ts`), source);
  const file = join(folder, `${title}.json`);
  const compilerOptions = {
    target: "ES2023",
    lib: ["ES2023"],
    module: "NodeNext",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  writeFileSync(file, JSON.stringify({ compilerOptions, files: [`${title}.ts`] }));
  return file;
}

function compile(config) {
  const started = performance.now();
  const { stdout, error } = spawnSync(process.execPath, [findTool("typescript", "tsc"), "-p", config], {
    encoding: "utf8",
  });
  if (error) throw error;
  return {
    seconds: (performance.now() - started) / 1000,
    errors: stdout.split("\n").filter((line) => /error TS/.test(line)),
  };
}

/** Nested objects, lists, unions, defaults and transforms; the body uses what was inferred, so that it must be. */
function toolsFile() {
  const tools = Array.from(
    { length: TOOLS },
    (_, i) => `
export const tool${i} = createTool({
  name: "tool_${i}",
  description: "Searches the records of service ${i}.",
  kind: "readonly",
  parameters: z.object({
    query: z.string().min(1).describe("Words to look for."),
    limit: z.int().min(1).max(100).default(10),
    state: z.enum(["open", "closed", "s${i}"]).optional(),
    range: z.object({ from: z.string(), to: z.string().optional(), zone: z.object({ offset: z.number() }) }),
    filters: z.array(z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("text"), text: z.string() }),
      z.object({ kind: z.literal("number"), at_least: z.number(), p${i}: z.boolean() }),
    ])),
    labels: z.record(z.string(), z.union([z.string(), z.number()])),
    day: z.string().transform((text) => new Date(text)),
  }),
  async run({ query, limit, state, range, filters, labels, day }, context) {
    const texts = filters.map((filter) => (filter.kind === "text" ? filter.text : filter.at_least + Number(filter.p${i})));
    const last: "open" | "closed" | "s${i}" | undefined = state;
    return { query: query.trim(), next: limit + 1, last, offset: range.zone.offset.toFixed(), texts, labels,
      year: day.getFullYear(), call: context.callId };
  },
});
haft.register(tool${i});`,
  );
  return `import { createHaft, createTool } from "haft";\nimport { z } from "zod";\nconst haft = createHaft();\n${tools.join("\n")}\n`;
}

const WRONG = `import { createTool } from "haft";
import { z } from "zod";
createTool({
  name: "wrong", description: "Uses what it does not declare.", parameters: z.object({ present: z.number() }),
  async run(input) { return input.missing; },
});
`;
