// npm run test:full [-- PART…]: the slow variants of the tests, all of them or those of the named parts.
import process from "node:process";
import { findTool, runTool } from "./run-tool.mjs";

const PARTS = {
  core: ["src/core/misbehaving-tools.test.ts"],
  io: ["src/io"],
  confinement: ["test/sandbox"],
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

const given = process.argv.slice(2);
const unknown = given.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0) {
  process.stderr.write(`No part is named ${unknown.join(", ")}. There are: ${Object.keys(PARTS).join(", ")}.\n`);
  process.exit(2);
}
const parts = given.length > 0 ? given : Object.keys(PARTS);
const env = { ...process.env, HAFT_FULL: "1" };
const files = parts.filter((part) => !Object.hasOwn(PROGRAMS, part)).flatMap((part) => PARTS[part]);
const codes = files.length > 0 ? [runTool(findTool("vitest"), ["run", ...files], { env })] : [];
for (const part of parts) if (Object.hasOwn(PROGRAMS, part)) codes.push(runTool(PROGRAMS[part], [], { env }));
process.exitCode = codes.find((code) => code !== 0) ?? 0;
