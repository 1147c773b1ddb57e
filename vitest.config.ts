import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import parts from "./test/parts.json" with { type: "json" };
import { archiveEntry } from "./test/setup/packed-archive.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** These use the package as it is published. */
const PACKED = ["test/mission/**/*.test.ts"];
/** What `npm test` leaves out, unless files are named: see scripts/test.mjs. */
const PARTS = Object.values(parts).flat();
const LEFT_OUT = process.env["HAFT_TESTS"] === "quick" ? PARTS : [];
/** Each of these has a process of its own: it changes something that a process has only once. */
const OWN = ["test/cli/piped.test.ts", ...PARTS];

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
        test: { name: "shared", include: ["{src,test}/**/*.test.ts"], exclude: [...OWN, ...PACKED], isolate: false },
      },
      {
        extends: true,
        resolve: SOURCES,
        test: { name: "own", include: OWN, exclude: [...PACKED, ...LEFT_OUT] },
      },
      {
        extends: true,
        plugins: [archive],
        test: {
          name: "packed",
          include: PACKED,
          exclude: LEFT_OUT,
          isolate: false,
          globalSetup: ["test/setup/packed-archive.ts"],
        },
      },
    ],
    environment: "node",
    globalSetup: ["test/setup/state-folder.ts", "test/setup/run-services.ts"],
    setupFiles: ["test/setup/fixed-seed.ts", "test/setup/each-file.ts"],
    // Processes, not threads: tests start children, send signals and change the working folder.
    pool: "forks",
    // Many tests of `npm test` wait for a timer or a process. Those of the parts start programs, which need the cores.
    maxWorkers: LEFT_OUT.length > 0 ? 3 : 2,
    // Packages look as the runtime itself gives them; the rewriting of defaults also breaks Zod on Bun.
    deps: { interopDefault: false },
    // For a busy machine; what hangs is found all the same.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
