// The examples of docs/guides/frameworks.md, with the built package. What each prints stands behind `//>`.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";

const run = promisify(execFile);
const FOLDER = join(ROOT, "examples", "frameworks");

beforeAll(() => run(process.execPath, [join(ROOT, "scripts", "build.mjs")], { cwd: ROOT }));

/** The packages of frameworks that are installed on demand may be missing. */
function isInstalled(source: string): boolean {
  const require = createRequire(join(FOLDER, "example.mjs"));
  return [...source.matchAll(/ from "([^".]+)"/g)].every(([, name]) => {
    try {
      return require.resolve(name!) !== "";
    } catch (error) {
      return (error as { code?: string }).code !== "MODULE_NOT_FOUND";
    }
  });
}

test.for(readdirSync(FOLDER).filter((name) => name.endsWith(".mjs") && name !== "pay.mjs"))(
  "%s prints what it says",
  async (name, context) => {
    const source = readFileSync(join(FOLDER, name), "utf8");
    if (!isInstalled(source)) return context.skip("its framework is not installed");
    const expected = [...source.matchAll(/\/\/> (.*)$/gm)].map(([, line]) => line);
    expect(expected.length).toBeGreaterThan(0);
    const { stdout } = await run(process.execPath, [join(FOLDER, name)], { cwd: ROOT, timeout: 50_000 });
    expect(stdout.trim().split("\n")).toEqual(expected);
  },
);
