import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { scriptDigests } from "./script-digests.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-scripts-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, "sub"));
for (const name of ["run.sh", "a.js", "sub/x.py", "sub/run.sh", "data.txt"]) writeFileSync(join(folder, name), name);

const digest = (name: string) => createHash("sha256").update(name).digest("hex");

test.each([
  ["sh run.sh", ["run.sh"]],
  ["./run.sh --fast", ["run.sh"]],
  ["node --enable-source-maps a.js one", ["a.js"]],
  ["python3 -u 'sub/x.py'", ["sub/x.py"]],
  ["sudo env A=1 bash -e run.sh", ["run.sh"]],
  ["sh -c './run.sh && node a.js'", ["run.sh", "a.js"]],
  ["sh < run.sh", ["run.sh"]],
  [". ./run.sh", ["run.sh"]],
  ["cd sub && ./run.sh", ["run.sh", "sub/run.sh"]],
  ["node --require=./a.js missing.js", ["a.js"]],
  ["cat run.sh", []],
  ["echo ./run.sh", []],
  ["sh missing.sh", []],
  ["sh sub", []],
])("%s names %j", async (command, names) => {
  const expected = Object.fromEntries(names.map((name) => [join(folder, name), digest(name)]));
  expect(await scriptDigests(command, folder)).toEqual(expected);
});

test("a changed script has another digest", async () => {
  const path = join(folder, "changed.sh");
  writeFileSync(path, "echo one");
  const before = await scriptDigests("./changed.sh", folder);
  writeFileSync(path, "echo two");
  expect(await scriptDigests("./changed.sh", folder)).not.toEqual(before);
});
