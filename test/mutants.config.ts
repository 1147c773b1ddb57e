// The tests of one group of scripts/mutants.mjs, which starts them hundreds of times.
import { defineConfig } from "vitest/config";
import all from "../vitest.config.ts";

export default defineConfig({
  test: {
    ...all.test,
    projects: undefined,
    include: process.env["HAFT_TESTS"]?.split(" ") ?? [],
    // Without the seed of property tests: loading their library takes longer than the tests.
    setupFiles: ["test/setup/each-file.ts"],
  },
});
