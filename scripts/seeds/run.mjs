// `npm run seeds -- DIR`: compiles, runs and compares the blocks of the design documents with the packed archive.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { installArchive } from "../install-archive.mjs";
import { findTool } from "../run-tool.mjs";
import { BLOCKS, IMPORTS } from "./blocks.mjs";
import { OTHER_BLOCKS, PYTHON_NAMES } from "./other-blocks.mjs";
import { readDocuments, readPythonNames } from "./read-documents.mjs";

/** The documents leave types out: parameters of functions, and what is caught. */
const COMPILER_OPTIONS = {
  target: "ES2023",
  lib: ["ES2023", "ES2024.String"],
  module: "ESNext",
  moduleResolution: "Bundler",
  moduleDetection: "force",
  types: ["node"],
  strict: true,
  noImplicitAny: false,
  useUnknownInCatchVariables: false,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  paths: { "bun:test": ["./blocks/bun-test.ts"] },
};
/** A method that is printed without a body: its types count all the same. */
const NO_BODY = ["TS2391", "TS2390"];

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write("Name the folder of the documents: npm run seeds -- DIR\n");
  process.exit(1);
}
const scratch = realpathSync(mkdtempSync(join(tmpdir(), "haft-seeds-")));
// A block reads this file; `./file-tools` writes it if there is none.
const sample = "/tmp/test.txt";
const hadSample = existsSync(sample);
process.on("exit", () => {
  rmSync(scratch, { recursive: true, force: true });
  if (!hadSample) rmSync(sample, { force: true });
});
await installArchive(scratch, ["vitest", "@sinclair/typebox", "@types/node", "yaml", "zod-to-json-schema"]);
const failures = [];
const ENTRIES = [...BLOCKS.map((entry) => ({ language: "typescript", ...entry })), ...OTHER_BLOCKS];
const blocks = readDocuments(folder).map(describeBlock);
for (const missing of ENTRIES.filter((entry) => !blocks.some((block) => block.entry === entry))) {
  failures.push(
    `${missing.document}, ${missing.language} block ${missing.block}: not found under the heading "${missing.heading}"`,
  );
}
writeBlocks();
const problems = compile();
const runnable = blocks.filter(
  ({ entry, name }) => !entry.exception?.length || (entry.ignores && problemsOf(name).length === 0),
);
const failed = run(runnable.filter(({ entry }) => entry.runs !== false));
report();

function describeBlock(block) {
  const { document, heading, language } = block;
  const known = ENTRIES.find(
    (entry) =>
      entry.document === document &&
      entry.language === language &&
      entry.block === block.block &&
      entry.heading === heading,
  );
  const isTypeScript = language === "typescript";
  const name = `seed-${document}-${isTypeScript ? "" : `${language}-`}${String(block.block).padStart(2, "0")}`;
  const label = `${document} ${heading}, ${isTypeScript ? "" : `${language} `}block ${block.block}`;
  if (!known && !isTypeScript) failures.push(`${label}: nothing is known about it`);
  return { ...block, entry: known ?? { ...block, code: undefined }, name, label };
}

/** The program of a block: TypeScript as it is printed, with its ellipses filled; anything else as a text. */
function programOf({ code, entry, language, label }) {
  const { before = "", after = "", fills = [] } = entry;
  if (language !== "typescript") {
    const text = `export const BLOCK = ${JSON.stringify(code)};`;
    if (language !== "python") return `${text}\n${after}\n`;
    const names = `import { checkNames } from "./python-names.ts";\nconst NAMES = ${JSON.stringify(readPythonNames(code))};`;
    return `${text}\n${names}\n${after}\n`;
  }
  let printed = code;
  for (const [gap, filling] of fills) {
    if (!printed.includes(gap)) failures.push(`${label}: it has no ${gap} to fill`);
    printed = printed.replaceAll(gap, filling);
  }
  return `${before}\n${printed}\n${after}\n`;
}

function writeBlocks() {
  const place = join(scratch, "blocks");
  mkdirSync(place);
  writeFileSync(join(scratch, "package.json"), '{ "type": "module" }');
  const alias = `{ "bun:test": ${JSON.stringify(join(place, "bun-test.ts"))} }`;
  writeFileSync(
    join(scratch, "vitest.config.mjs"),
    `export default { resolve: { alias: ${alias} }, test: { include: ["blocks/*.test.ts"], testTimeout: 120_000 } };`,
  );
  for (const [specifier, text] of Object.entries(IMPORTS)) {
    writeFileSync(join(place, `${specifier.replace("./", "").replace(":", "-")}.ts`), text);
  }
  writeFileSync(join(place, "python-names.ts"), PYTHON_NAMES);
  for (const block of blocks) {
    const { entry, name } = block;
    const isTests = entry.runs === "tests";
    writeFileSync(join(place, `${name}${isTests ? ".test" : ""}.ts`), programOf(block));
    if (!isTests) writeFileSync(join(place, `${name}.test.ts`), driverOf(name, entry));
  }
}

/** A test that runs a block by importing it. */
function driverOf(name, { throws }) {
  const load = `import("./${name}.ts")`;
  const body =
    throws === undefined
      ? `const block: unknown = await ${load}; await (block as { check?(): unknown }).check?.();`
      : `await expect(${load}).rejects.toThrow(${JSON.stringify(throws)});`;
  return `import { expect, test } from "vitest"; test("${name}", async () => { ${body} });`;
}

/** The messages of the compiler by block. It checks no types while there is a syntax error, so those blocks go first. */
function compile() {
  const broken = messagesOf(["blocks"]);
  const isSyntax = ([, found]) => found.some(({ code }) => /^TS1\d{3}$/.test(code));
  const excluded = [...broken].filter(isSyntax).map(([name]) => name);
  if (excluded.length === 0) return broken;
  const typed = messagesOf(
    ["blocks"],
    excluded.flatMap((name) => [`blocks/${name}.ts`, `blocks/${name}.test.ts`]),
  );
  for (const name of excluded) typed.set(name, broken.get(name));
  return typed;
}

function messagesOf(include, exclude = []) {
  writeFileSync(
    join(scratch, "tsconfig.json"),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include, exclude }),
  );
  const parameters = [findTool("typescript", "tsc"), "-p", scratch, "--pretty", "false"];
  const { stdout, stderr } = spawnSync(process.execPath, parameters, { cwd: scratch, encoding: "utf8" });
  const found = new Map();
  let last;
  for (const line of `${stdout}${stderr}`.split("\n")) {
    const [, name, position, code, message] =
      /^blocks\/([\w-]+)(?:\.test)?\.ts\((\d+,\d+)\): error (TS\d+): (.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      found.set(name, [...(found.get(name) ?? []), { code, text: `${code} at ${position}: ${message}` }]);
      last = found.get(name)?.at(-1);
    } else if (/^\s+\S/.test(line) && last !== undefined) last.text += ` ${line.trim()}`;
    else if (/error TS/.test(line)) failures.push(line);
  }
  return found;
}

/** What the compiler says about a block, without what its entry ignores. */
function problemsOf(name) {
  const { entry } = blocks.find((block) => block.name === name);
  const ignored = [...(entry.ignores ?? []), ...(entry.signatures ? NO_BODY : [])];
  return (problems.get(name) ?? []).filter(({ code }) => !ignored.includes(code));
}

/** The names of blocks that failed, with the reason. */
function run(selected) {
  const output = join(scratch, "results.json");
  const files = selected.map(({ name }) => `blocks/${name}.test.ts`);
  const parameters = [
    findTool("vitest"),
    "run",
    "--root",
    scratch,
    "--reporter=json",
    `--outputFile=${output}`,
    ...files,
  ];
  const { stdout, stderr } = spawnSync(process.execPath, parameters, { cwd: scratch, encoding: "utf8" });
  let results;
  try {
    results = JSON.parse(readFileSync(output, "utf8")).testResults;
  } catch {
    failures.push(`The blocks could not be run: ${stdout}${stderr}`);
    return new Map();
  }
  const reasons = new Map();
  for (const { name: file, status, message, assertionResults } of results) {
    if (status === "passed") continue;
    const reason = assertionResults.flatMap(({ failureMessages }) => failureMessages).join("; ") || message;
    reasons.set(/([\w-]+)\.test\.ts$/.exec(file)?.[1], reason.split("\n").slice(0, 3).join(" "));
  }
  return reasons;
}

function report() {
  const counts = { compiled: 0, run: 0, compared: 0 };
  const exceptions = [];
  for (const { entry, name, label } of blocks) {
    const left = problemsOf(name);
    const isExcluded = entry.exception !== undefined && entry.ignores === undefined;
    if (entry.exception !== undefined) {
      exceptions.push(`${label}: ${entry.exception}`);
      if ((problems.get(name) ?? []).length === 0) failures.push(`${label}: its exception is not needed any more`);
    }
    if (isExcluded) continue;
    if (left.length > 0) failures.push(`${label}: ${left.map(({ text }) => text).join("; ")}`);
    else counts.compiled++;
    if (failed.has(name)) failures.push(`${label}: ${failed.get(name)}`);
    else if (left.length === 0 && entry.runs !== false) counts.run++;
    if (left.length === 0 && entry.compares && !failed.has(name)) counts.compared++;
  }
  const { compiled, run: ran, compared } = counts;
  process.stdout.write(
    `${blocks.length} blocks: ${compiled} compiled, ${ran} run, ${compared} compared with our types; ${exceptions.length} exceptions\n`,
  );
  for (const line of exceptions) process.stdout.write(`  exception: ${line}\n`);
  for (const line of failures) process.stdout.write(`  FAILED: ${line}\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}
