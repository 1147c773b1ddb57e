import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { listArchive } from "../../scripts/install-archive.mjs";
import { ROOT } from "../architecture/read-entries.ts";

/** Names of chunks contain hashes and change with each build. */
const GROUPS: Readonly<Record<string, RegExp>> = {
  "dist/chunks/*.js": /^dist\/chunks\/[\w-]+\.js$/,
  "dist/cli/chunks/*.cjs": /^dist\/cli\/chunks\/[\w-]+\.cjs$/,
  "dist/console/assets/*.js": /^dist\/console\/assets\/[\w.-]+\.js$/,
  "dist/console/assets/*.br": /^dist\/console\/assets\/[\w.-]+\.br$/,
  "dist/console/assets/*.css": /^dist\/console\/assets\/[\w-]+\.css$/,
  "dist/**/*.d.ts": /^dist\/(?!cli\/|console\/)(?:[\w-]+\/)*[\w-]+\.d\.ts$/,
};

const CONTENTS = [
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "README.zh-CN.md",
  "dist/**/*.d.ts",
  "dist/agent.js",
  "dist/chunks/*.js",
  "dist/cli/chunks/*.cjs",
  "dist/cli/main.js",
  "dist/client.js",
  "dist/compat.js",
  "dist/console/assets/*.br",
  "dist/console/assets/*.css",
  "dist/console/assets/*.js",
  "dist/console/canvas/marked.js",
  "dist/console/canvas/mermaid.js",
  "dist/console/canvas/purify.js",
  "dist/console/haft.svg",
  "dist/console/index.html",
  "dist/formats.js",
  "dist/host.js",
  "dist/index.js",
  "dist/only-node.js",
  "dist/server.js",
  "dist/testing/index.js",
  "dist/workspace.js",
  "docs/haft.config.schema.json",
  "native/build.sh",
  "native/hook-arm64",
  "native/hook-x64",
  "native/hook.c",
  "native/launch-arm64",
  "native/launch-x64",
  "native/launch.c",
  "native/system.h",
  "package.json",
];

const MAX_PACKED_BYTES = 4.5 * 1024 * 1024;

let archive: Awaited<ReturnType<typeof listArchive>>;
beforeAll(async () => {
  archive = await listArchive();
  // Alone, this file builds the package first.
}, 600_000);

function groupOf(path: string): string {
  return Object.keys(GROUPS).find((name) => GROUPS[name]?.test(path)) ?? path;
}

test("the archive has these files and no others", () => {
  expect([...new Set(archive.paths.map(groupOf))].toSorted()).toEqual(CONTENTS.toSorted());
  expect(archive.paths.filter((path) => /\.(test|suite|fixture|types)\./.test(path))).toEqual([]);
});

test("every entry of package.json is in the archive", () => {
  const { bin, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    bin: Record<string, string>;
    exports: Record<string, string | Record<string, string>>;
  };
  const files = [bin, ...Object.values(exports)].flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry),
  );
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !archive.paths.includes(file.replace(/^\.\//, "")))).toEqual([]);
});

test("the archive stays below its size limit", () => {
  expect(archive.size).toBeGreaterThan(1024 * 1024);
  expect(archive.size).toBeLessThan(MAX_PACKED_BYTES);
});
