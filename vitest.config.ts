import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { archiveEntry } from "./test/setup/packed-archive.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** These start no children of their own and change nothing that a process has only once: many files run in one process. */
const SHARED = ["src/**/*.test.ts", "test/{gate,http}/**/*.test.ts", "test/entrances.test.ts"];
/** These do: each file has a process of its own. */
const OWN = ["src/{cli,code,io/files,io/shell,store}/**/*.test.ts", "test/**/*.test.ts"];

/** These use the package as it is published. */
const PACKED = ["test/mission/**/*.test.ts"];

/** The names of the package stand for its sources. */
const SOURCES = {
  alias: [
    { find: /^haft\/client$/, replacement: here("src/client.ts") },
    { find: /^haft\/compat$/, replacement: here("src/compat.ts") },
    { find: /^haft\/formats$/, replacement: here("src/formats.ts") },
    { find: /^haft\/agent$/, replacement: here("src/agent.ts") },
    { find: /^haft\/host$/, replacement: here("src/host.ts") },
    { find: /^haft\/server$/, replacement: here("src/server.ts") },
    { find: /^haft\/testing$/, replacement: here("src/testing/index.ts") },
    { find: /^haft\/workspace$/, replacement: here("src/workspace.ts") },
    { find: /^haft$/, replacement: here("src/index.ts") },
  ],
};

/** The names of the package stand for the packed archive, which the set-up of the run has unpacked. */
const archive = {
  name: "packed-archive",
  resolveId: (id: string) => (/^haft(?:\/|$)/.test(id) ? archiveEntry(id) : undefined),
};

export default defineConfig({
  test: {
    // Loading the sources anew for each file takes longer than most tests.
    projects: [
      {
        extends: true,
        resolve: SOURCES,
        test: { name: "shared", include: SHARED, exclude: OWN.slice(0, 1), isolate: false },
      },
      {
        extends: true,
        resolve: SOURCES,
        test: { name: "own", include: OWN, exclude: [...SHARED.slice(1), ...PACKED] },
      },
      {
        extends: true,
        plugins: [archive],
        test: { name: "packed", include: PACKED, isolate: false, globalSetup: ["test/setup/packed-archive.ts"] },
      },
    ],
    environment: "node",
    globalSetup: ["test/setup/state-folder.ts", "test/setup/run-services.ts"],
    setupFiles: ["test/setup/fixed-seed.ts", "test/setup/each-file.ts"],
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
