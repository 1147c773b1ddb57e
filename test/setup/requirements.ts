import process from "node:process";

/** What some tests need and npm does not bring. */
export type Requirement = "browser" | "network" | "redis" | "sandbox";

/**
 * Whether the tests that need it can run. `missing` says why not. They are skipped then, unless HAFT_REQUIRE lists the
 * requirement ("browser network redis sandbox"): then this throws, which fails the test file.
 */
export function canRun(requirement: Requirement, missing: string | undefined): boolean {
  if (missing === undefined) return true;
  const required = (process.env["HAFT_REQUIRE"] ?? "").split(/[\s,]+/);
  if (required.includes(requirement)) throw new Error(`HAFT_REQUIRE lists "${requirement}". ${missing}`);
  process.stderr.write(`\nTests that need the ${requirement} are skipped. ${missing}\n\n`);
  return false;
}
