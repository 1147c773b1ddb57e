// The built command line keeps its compiled code, and works whatever became of it.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { packedPackage } from "../setup/packed-package.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let haft: string;
let state: string;
let kept: string;

beforeAll(async () => {
  haft = await packedPackage();
}, 300_000);

beforeEach(() => {
  state = temporaryFolder("haft-launch-state-");
  kept = join(state, "compiled", `${process.version}-${process.arch}`);
});

function listTools(): string {
  const env = { ...process.env, HAFT_STATE_DIR: state };
  const words = [join(haft, "dist", "cli", "main.js"), "tools", "list", "--kind", "write"];
  return execFileSync(process.execPath, words, { cwd: temporaryFolder("haft-launch-"), env, encoding: "utf8" });
}

const times = () => readdirSync(kept).map((name) => [name, statSync(join(kept, name)).mtimeMs]);

test("compiled code is kept for this user, and used as it is by the next start", () => {
  const said = listTools();
  expect(said).toContain("edit_notebook");
  const before = times();
  expect(before.length).toBeGreaterThan(5);
  expect(statSync(kept).mode & 0o077).toBe(0);
  expect(listTools()).toBe(said);
  expect(times()).toEqual(before);
});

test("damaged code is compiled again, and that of other versions is removed", () => {
  const said = listTools();
  const names = readdirSync(kept);
  for (const name of names) writeFileSync(join(kept, name), "damaged");
  writeFileSync(join(kept, "earlier-version.cjs"), "");
  expect(listTools()).toBe(said);
  expect(readdirSync(kept)).toEqual(names);
  for (const name of names) expect(statSync(join(kept, name)).size, name).toBeGreaterThan("damaged".length);
});

test("one changed bit in compiled code is found: V8 itself would run it", () => {
  const said = listTools();
  for (const name of readdirSync(kept)) {
    const code = readFileSync(join(kept, name));
    const at = Math.floor(code.length / 2);
    code[at] = (code[at] ?? 0) ^ 4;
    writeFileSync(join(kept, name), code);
  }
  const before = times();
  expect(listTools()).toBe(said);
  for (const [at, [name, time]] of times().entries()) expect(time, String(name)).not.toBe(before[at]?.[1]);
});

test.skipIf(process.platform === "win32")("a folder that others can write is not used", () => {
  const said = listTools();
  chmodSync(kept, 0o777);
  for (const name of readdirSync(kept)) rmSync(join(kept, name));
  expect(listTools()).toBe(said);
  expect(readdirSync(kept)).toEqual([]);
});

test("a start needs no compiled code", () => {
  const said = listTools();
  rmSync(join(state, "compiled"), { recursive: true });
  writeFileSync(join(state, "compiled"), "a file");
  expect(listTools()).toBe(said);
  rmSync(join(state, "compiled"));
  mkdirSync(join(kept, readdirSync(join(haft, "dist", "cli", "chunks"))[0] ?? ""), { recursive: true });
  expect(listTools()).toBe(said);
});
