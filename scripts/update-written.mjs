// node scripts/update-written.mjs TEST FILE: the test writes the file from the sources, instead of comparing it with them.
import process from "node:process";
import { findTool, runTool } from "./run-tool.mjs";

const [test, file] = process.argv.slice(2);
const env = { ...process.env, HAFT_UPDATE: "1" };
process.exitCode =
  runTool(findTool("vitest"), ["run", test, "--testNamePattern", "written down anew"], { env }) ||
  runTool(findTool("oxfmt"), [file]);
