import fc from "fast-check";

/**
 * Property tests try the same cases each time, so that a red run is the fault of the change it ran on. `HAFT_SEED=random`
 * looks for new ones, and a number repeats a run.
 */
const requested = process.env["HAFT_SEED"];
if (requested !== "random")
  fc.configureGlobal({ seed: requested === undefined ? 20_261_115 : Number.parseInt(requested, 10) });
