import { findBubblewrap, type TableFolder } from "../../../src/io/sandbox/engines.ts";
import { type ConfinementProfile } from "../../../src/io/sandbox/sandbox.ts";
import { type Engine, findEngines, type FoundEngines, testEngine } from "../../../src/io/sandbox/self-test.ts";

/** The engines that each profile may get. `landlock-1` is Landlock as kernels before 5.19 have it. */
export const ENGINES = {
  look: ["namespaces", "landlock", "perl", "landlock-1"],
  work: ["namespaces", "bubblewrap", "landlock", "perl"],
} as const;

/** An engine that has passed its self-test here, for both profiles, or why there is none. */
export function engineFor(
  name: string,
  profile: ConfinementProfile,
  tables: TableFolder,
): { engines: FoundEngines | undefined } | { problem: string } {
  if (name === "none") return { engines: undefined };
  const why = "not used in this test";
  const found =
    name === "perl"
      ? findEngines({ tables, launcher: () => ({ why }) })
      : findEngines({ tables, abi: name === "landlock-1" ? 1 : undefined });
  const base = found.look;
  if (!base) return { problem: found.tests.find(({ problem }) => problem !== undefined)?.problem ?? "no engine" };
  const engine = named(base, name);
  if ("problem" in engine) return engine;
  const problem = testEngine(engine, profile, tables);
  if (problem !== undefined) return { problem };
  // A step before an attack in `look` needs `work` too.
  const work = profile === "work" ? engine : found.work;
  return { engines: { look: profile === "look" ? engine : base, work, tests: [] } };
}

function named(base: Engine, name: string): Engine | { problem: string } {
  if (name === "namespaces" || name === "landlock") return { ...base, name };
  if (name === "landlock-1") return { ...base, name: "landlock" };
  if (name !== "bubblewrap") return base;
  const bubblewrap = findBubblewrap();
  return bubblewrap === undefined ? { problem: "bubblewrap is not installed" } : { ...base, name, bubblewrap };
}
