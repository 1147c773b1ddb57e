import { describe } from "vitest";
import { programStoreSuite } from "./program-store.suite.ts";
import { MemoryProgramStore } from "./code-runner.ts";

describe("programs in memory", () => {
  programStoreSuite(async () => new MemoryProgramStore());
});
