import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** These start children, send signals or change what a process has only once: each file has a process of its own. */
const WITH_PROCESSES = ["cli", "code", "io/files", "io/shell", "store"].map((folder) => `src/${folder}/**/*.test.ts`);

export default defineConfig({
  resolve: {
    alias: [
      { find: /^haft\/client$/, replacement: here("src/client/index.ts") },
      { find: /^haft\/formats$/, replacement: here("src/formats.ts") },
      { find: /^haft\/agent$/, replacement: here("src/agent.ts") },
      { find: /^haft\/host$/, replacement: here("src/host.ts") },
      { find: /^haft\/server$/, replacement: here("src/server.ts") },
      { find: /^haft\/testing$/, replacement: here("src/testing/index.ts") },
      { find: /^haft\/workspace$/, replacement: here("src/workspace.ts") },
      { find: /^haft$/, replacement: here("src/index.ts") },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "units",
          include: ["src/**/*.test.ts"],
          exclude: WITH_PROCESSES,
          // Many files in one process: loading the sources anew for each takes longer than most tests.
          isolate: false,
        },
      },
      { extends: true, test: { name: "processes", include: [...WITH_PROCESSES, "test/**/*.test.ts"] } },
    ],
    environment: "node",
    globalSetup: ["test/setup/run-services.ts"],
    setupFiles: ["test/house/fixed-seed.ts"],
    // Processes, not threads: tests start children, send signals and change the working folder.
    pool: "forks",
    maxWorkers: 2,
    // Packages look as the runtime itself gives them; the rewriting of defaults also breaks Zod on Bun.
    deps: { interopDefault: false },
    // For a busy machine; what hangs is found all the same.
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
