import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { digestPlugin } from "./code-digests.ts";

type FilesByPath = Readonly<Record<string, string>>;

function write(folder: string, files: FilesByPath): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text.replaceAll("FOLDER", folder));
  }
}

const APP = '{"name":"app","type":"module","imports":{"#h":"./h.mjs"},"exports":{"./h":"./h.mjs"}}';
const PACKAGE = {
  "node_modules/pkg/package.json": '{"main":"i.mjs"}',
  "node_modules/pkg/i.mjs": 'import "./part.mjs"',
};

const COVERED: [name: string, from: string, files: FilesByPath, changed: string][] = [
  ["an import", "./p.ts", { "p.ts": 'import "./h.ts"', "h.ts": "" }, "h.ts"],
  ["an import without ending", "./p.ts", { "p.ts": 'import "./h"', "h.tsx": "" }, "h.tsx"],
  ["a file that takes precedence", "./p.ts", { "p.ts": 'import "./h"', "h.ts": "" }, "h.js"],
  ["an index", "./p.ts", { "p.ts": 'import "./h"', "h/index.mjs": "" }, "h/index.mjs"],
  ["the main file of a folder", "./p.ts", { "p.ts": 'import "./h"', "h/package.json": '{"main":"m"}' }, "h/m.js"],
  ["an import for the compiled file", "./p.ts", { "p.ts": 'import "./h.cjs"', "h.cts": "" }, "h.cts"],
  ["an import in backticks", "./p.ts", { "p.ts": "await import(`./h.ts`)", "h.ts": "" }, "h.ts"],
  ["an import with a comment", "./p.ts", { "p.ts": 'import x from /* x */ "./h.ts"', "h.ts": "" }, "h.ts"],
  ["a function of createRequire", "./p.mjs", { "p.mjs": 'load("./h.cjs")', "h.cjs": "" }, "h.cjs"],
  ["an absolute path", "./p.ts", { "p.ts": 'import "FOLDER/h.ts"', "h.ts": "" }, "h.ts"],
  ["a URL", "./p.ts", { "p.ts": 'import "file://FOLDER/h.ts"', "h.ts": "" }, "h.ts"],
  ["an import of package.json", "./p.ts", { "package.json": APP, "p.ts": 'import "#h"', "h.mjs": "" }, "h.mjs"],
  ["a plugin by an import of package.json", "#h", { "package.json": APP, "h.mjs": "" }, "h.mjs"],
  ["a plugin by the folder's own name", "app/h", { "package.json": APP, "h.mjs": "" }, "h.mjs"],
  ["a plugin by a URL", "file://FOLDER/h.mjs", { "h.mjs": "" }, "h.mjs"],
  ["an import out of a plugin's folder", "./a", { "a/index.ts": 'import "../h.ts"', "h.ts": "" }, "h.ts"],
  ["an entry outside a plugin's folder", "./a", { "a/package.json": '{"main":"../h.mjs"}', "h.mjs": "" }, "h.mjs"],
  ["the entry of a package", "pkg", PACKAGE, "node_modules/pkg/i.mjs"],
  ["a part of a package", "pkg", { ...PACKAGE, "node_modules/pkg/part.mjs": "" }, "node_modules/pkg/part.mjs"],
];

test.each(COVERED)("trust in a plugin covers %s", async (_name, from, files, changed) => {
  const folder = realpathSync(temporaryFolder("haft-code-"));
  write(folder, files);
  const before = await digestPlugin(from.replace("FOLDER", folder), folder);
  expect(await digestPlugin(from.replace("FOLDER", folder), folder)).toEqual(before);
  write(folder, { [changed]: "globalThis.changed = true;" });
  expect(await digestPlugin(from.replace("FOLDER", folder), folder)).not.toEqual(before);
});

test("trust in a plugin covers a linked package, and no file that it only names", async () => {
  const folder = realpathSync(temporaryFolder("haft-code-"));
  write(folder, { "packages/pkg/package.json": '{"main":"i.mjs"}', "packages/pkg/i.mjs": 'open("./log.txt")' });
  write(folder, { "node_modules/other/i.js": "", "packages/pkg/log.txt": "" });
  symlinkSync("../packages/pkg", join(folder, "node_modules/pkg"));
  const before = await digestPlugin("pkg", folder);
  write(folder, { "packages/pkg/log.txt": "a line" });
  expect(await digestPlugin("pkg", folder)).toEqual(before);
  write(folder, { "packages/pkg/i.mjs": "2" });
  expect(await digestPlugin("pkg", folder)).not.toEqual(before);
});
