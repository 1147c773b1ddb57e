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
};

const given = process.argv.slice(2);
const unknown = given.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0) {
  process.stderr.write(`No part is named ${unknown.join(", ")}. There are: ${Object.keys(PARTS).join(", ")}.\n`);
  process.exit(2);
}
const files = (given.length > 0 ? given : Object.keys(PARTS)).flatMap((part) => PARTS[part]);
process.exitCode = runTool(findTool("vitest"), ["run", ...files], { env: { ...process.env, HAFT_FULL: "1" } });
