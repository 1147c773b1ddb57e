// Accepts the present exports of the package as its public surface: rewrites test/surface.json.
import process from "node:process";
import { findTool, runTool } from "./run-tool.mjs";

const env = { ...process.env, HAFT_UPDATE_SURFACE: "1" };
process.exitCode = runTool(
  findTool("vitest"),
  ["run", "test/surface.test.ts", "--testNamePattern", "written down anew"],
  { env },
);
