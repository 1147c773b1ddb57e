// Runs the tests. `npm test` runs what takes minutes: all files but those of test/parts.json. `npm test -- FILE…` runs what
// is named. `npm run test:full [-- PART…]` runs the parts that `npm test` leaves out, and with `--long` the slow variants.
// `npm run test:full -- mutants [GROUP…]` tests the tests.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import process from "node:process";
import picomatch from "picomatch";
import { ROOT } from "./root.mjs";
import { findTool, runTool } from "./run-tool.mjs";

const PARTS = JSON.parse(readFileSync(join(ROOT, "test/parts.json"), "utf8"));
/** More rounds, larger inputs, more states: hours in all. */
const LONG = {
  core: ["src/core/misbehaving-tools.test.ts"],
  io: ["src/io"],
  sandbox: ["test/sandbox"],
  text: ["src/models/text"],
  store: ["src/store"],
  approvals: ["test/approvals"],
  calls: ["test/calls"],
  jobs: ["test/jobs"],
  endurance: ["test/endurance/endurance.test.ts"],
  soak: ["test/endurance/soak.test.ts"],
  schedules: ["test/schedules"],
  sessions: ["test/sessions"],
  code: ["test/code"],
  console: ["test/console"],
  examples: ["test/examples"],
  adoption: ["test/adoption"],
  site: ["test/site"],
};
/** Parts that first install what they test: they run their files themselves. */
const PROGRAMS = { adoption: "test/adoption/run.mjs" };

const [first, ...others] = process.argv.slice(2);
process.exitCode = first === "--full" ? runParts(others) : runQuick(process.argv.slice(2));

function runQuick(parameters) {
  const isOption = (each) => each?.startsWith("-") ?? false;
  // The word after an option is its value.
  const namesFiles = parameters.some((each, at) => !isOption(each) && !isOption(parameters[at - 1]));
  return runVitest(parameters, namesFiles ? {} : { HAFT_TESTS: "quick" });
}

function runParts(parameters) {
  const isLong = parameters.includes("--long");
  const known = isLong ? LONG : PARTS;
  const names = parameters.filter((each) => !each.startsWith("-"));
  // Only when it is named: it takes long, and changes only if the sources do.
  if (names[0] === "mutants") return runTool("scripts/mutants.mjs", names.slice(1));
  const options = parameters.filter((each) => each.startsWith("-") && each !== "--long");
  const unknown = names.filter((part) => !Object.hasOwn(known, part));
  if (unknown.length > 0) {
    process.stderr.write(
      `No part is named ${unknown.join(", ")}. There are: ${[...Object.keys(known), "mutants"].join(", ")}.\n`,
    );
    return 2;
  }
  const parts = names.length > 0 ? names : Object.keys(known);
  if (!isLong) return runVitest([...filesOf(parts), ...options], {});
  const codes = [];
  const files = parts.filter((part) => !Object.hasOwn(PROGRAMS, part)).flatMap((part) => LONG[part]);
  if (files.length > 0) codes.push(runVitest([...files, ...options], { HAFT_FULL: "1" }));
  const env = { ...process.env, HAFT_FULL: "1" };
  for (const part of parts) if (Object.hasOwn(PROGRAMS, part)) codes.push(runTool(PROGRAMS[part], [], { env }));
  return codes.find((code) => code !== 0) ?? 0;
}

function filesOf(parts) {
  const matches = picomatch(parts.flatMap((part) => PARTS[part]));
  return ["src", "test"]
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)))
    .map((file) => file.split(sep).join("/"))
    .filter((file) => matches(file));
}

function runVitest(parameters, env) {
  return runTool(findTool("vitest"), ["run", ...parameters], { env: { ...process.env, ...env } });
}
