// What knip looks at. The packages that only tests and checks need are listed in test/dependencies.
import { readFileSync } from "node:fs";

const { devDependencies } = JSON.parse(
  readFileSync(new URL("test/dependencies/package.json", import.meta.url), "utf8"),
);

export default {
  ignoreWorkspaces: ["test/dependencies"],
  workspaces: {
    ".": {
      entry: [
        "src/index.ts",
        "src/testing/index.ts",
        "src/workspace.ts",
        "src/host.ts",
        "src/compat.ts",
        "src/formats.ts",
        "src/agent.ts",
        "src/server.ts",
        "src/client.ts",
        "src/cli/launch.ts",
        "src/cli/main.ts",
        "console/src/main.tsx",
        "console/vite.config.ts",
        "src/**/*.types.ts",
        "console/src/parts/no-validator.ts",
        "console/src/parts/no-schemas.ts",
        "src/cli/ask-at-terminal.fixture.ts",
        "test/adoption/start-runs.ts",
        "test/approvals/asked-process.ts",
        "test/approvals/killed-process.ts",
        "test/cli/paying-program.ts",
        "test/host/plugin-host.fixture.ts",
        "test/mutants.config.ts",
        "test/mcp/stdio-program.ts",
        "test/architecture/undocumented.fixture.ts",
        "src/**/*.fixture.ts",
        "test/state/use-host.ts",
        "test/sandbox/*.program.ts",
        "test/sandbox/print-engines.ts",
        "scripts/*.mjs",
        "scripts/docs/{check,run,typescript-hooks}.mjs",
        "scripts/fixtures/families/*.mjs",
      ],
      project: ["src/**/*.ts", "test/**/*.ts", "scripts/**/*.mjs", "console/src/**/*.{ts,tsx}"],
      // Found by the dependencies of the root otherwise.
      vitest: true,
      ignoreDependencies: [
        ...Object.keys(devDependencies),
        "hono",
        "@hono/node-server",
        "defuddle",
        "linkedom",
        "zod-to-json-schema",
        "quickjs-wasi",
        "@ai-sdk/openai-compatible",
        "dompurify",
        "marked",
        "@mermaid-js/tiny",
      ],
      ignoreBinaries: ["vitest", "oxfmt", "mkfifo", "perl", "unshare", "redis-server", "openssl"],
    },
  },
  ignoreExportsUsedInFile: { interface: true, type: true },
};
