import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createTreeLister } from "../search/glob.ts";
import { createListFilesTool, type ListedFile } from "./list-files.ts";

function stage(content: Record<string, string> = {}) {
  const folder = temporaryFolder("haft-list-");
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const files = createFiles(createPathPolicy({ workspace: folder, denyGlobs: ["closed"] }));
  const tool = createListFilesTool({ files, listTree: createTreeLister({ files }) });
  const haft = createHaft({ tools: [tool], folder });
  const list = async (input: object) => {
    const result = await haft.execute("list_files", input);
    const listed = (result.details as { files?: ListedFile[] } | undefined)?.files ?? [];
    return { result, paths: listed.map(({ path }) => path), files: listed };
  };
  return { folder, tool, list };
}

test("list_files keeps the contract of tools", async () => {
  const { tool, folder } = stage({ "a.txt": "" });
  await testTool(tool, { runtime: { folder }, inputs: [{}], badInputs: [{ path: 1 }, { limit: 0 }] });
});

test("lists a folder by name, with sizes, times and types, despite a broken link", async () => {
  const { folder, list } = stage({ "b.txt": "four", ".hidden": "", "dir/inner.txt": "" });
  symlinkSync("nowhere", join(folder, "broken"));
  const { result, files, paths } = await list({ path: "." });
  expect(paths).toEqual([".hidden", "b.txt", "broken", "dir"]);
  expect(textOf(result.content)).toBe(".hidden  0\nb.txt  4\nbroken@\ndir/");
  const modified = statSync(join(folder, "b.txt")).mtimeMs;
  expect(files[1]).toEqual({ path: "b.txt", name: "b.txt", type: "file", size: 4, modified: Math.trunc(modified) });
  expect(result.details).toMatchObject({ truncated: false });
});

test("recursive does not follow links and skips unreadable folders", async () => {
  const { folder, list } = stage({ "a/b/c.txt": "", "a/d.md": "", "closed/x.txt": "" });
  symlinkSync("/etc", join(folder, "out"));
  const { result, paths } = await list({ path: ".", recursive: true });
  expect(paths).toEqual(["a", "closed", "out", "a/b", "a/d.md", "a/b/c.txt"]);
  expect(textOf(result.content)).toContain("[These folders could not be read: closed]");
});

test("a pattern matches names, or paths if it has a slash; an invalid one is refused", async () => {
  const { list } = stage({ "a.ts": "", "src/b.ts": "", "src/deep/c.ts": "", "src/d.md": "" });
  expect((await list({ recursive: true, pattern: "*.ts" })).paths).toEqual(["a.ts", "src/b.ts", "src/deep/c.ts"]);
  expect((await list({ recursive: true, pattern: "src/*.ts" })).paths).toEqual(["src/b.ts"]);
  expect(textOf((await list({ pattern: "*.rs" })).result.content)).toBe("(nothing matches *.rs)");
  // A backtracking matcher would take minutes.
  expect((await list({ recursive: true, pattern: `${"*a".repeat(12)}b` })).paths).toEqual([]);
  expect((await list({ pattern: "x".repeat(5000) })).result).toMatchObject({ error: { code: "bad_pattern" } });
});

test("a limit shows the top of the tree first and reports that there is more", async () => {
  const { list } = stage({ "a/deep.txt": "", "b.txt": "", "c.txt": "" });
  const { result, paths } = await list({ path: ".", recursive: true, limit: 3 });
  expect(paths).toEqual(["a", "b.txt", "c.txt"]);
  expect(result.details).toMatchObject({ truncated: true });
  expect(textOf(result.content)).toContain("a/  (1 file)\nb.txt  0\nc.txt  0\n[3 entries are shown.");
  expect(textOf((await list({ path: ".", limit: 2 })).result.content)).toContain("[Only the first 2 are shown.");
});

test("recursive leaves out what .gitignore excludes, and counts the rest", async () => {
  const { list, folder } = stage({
    ".gitignore": "dist\n*.log\nnode_modules/\n",
    ".git/config": "",
    "node_modules/a/index.js": "",
    "node_modules/b/index.js": "",
    "dist/out.js": "",
    "debug.log": "",
    "src/.gitignore": "made.ts\n",
    "src/made.ts": "",
    "src/main.ts": "",
    "src/lib/one.ts": "",
    "packages/x/node_modules/y/z.js": "",
    "packages/x/index.js": "",
  });
  mkdirSync(join(folder, "empty"));
  const { result, paths } = await list({ recursive: true });
  expect(textOf(result.content).split("\n")).toEqual([
    ".gitignore  25",
    "empty/  (0 files)",
    "node_modules/  (2 entries, not listed)",
    "packages/  (1 file)",
    "src/  (3 files)",
    "packages/x/  (1 file)",
    "src/.gitignore  8",
    "src/lib/  (1 file)",
    "src/main.ts  0",
    "packages/x/index.js  0",
    "packages/x/node_modules/  (1 entry, not listed)",
    "src/lib/one.ts  0",
    "[Excluded by .gitignore and not listed: debug.log, dist/, src/made.ts]",
  ]);
  const all = await list({ recursive: true, respect_gitignore: false, depth: 1 });
  expect(all.paths).toEqual([".gitignore", "debug.log", "dist", "empty", "node_modules", "packages", "src"]);
  expect((await list({ recursive: true, pattern: "*.ts" })).paths).toEqual(["src/main.ts", "src/lib/one.ts"]);
  expect((await list({ recursive: true, ignore: ["src", "*.js", "empty"] })).paths).not.toContain("src");
  expect(paths).not.toContain(".git");
});

test("a large repository is shown within the limit: every top-level folder with its count", async () => {
  const content = Object.fromEntries(
    ["a", "b", "c"].flatMap((top) =>
      Array.from({ length: 40 }, (_, nth) => [`${top}/${nth % 4 === 0 ? "small" : "large"}/${nth}.txt`, ""]),
    ),
  );
  const { list } = stage({ ...content, "z/one.txt": "", "readme.md": "" });
  const { result, paths } = await list({ recursive: true, limit: 30 });
  expect(paths.slice(0, 5)).toEqual(["a", "b", "c", "readme.md", "z"]);
  expect(textOf(result.content)).toContain("a/  (40 files)\nb/  (40 files)");
  expect(textOf(result.content)).toContain("a/large/  (30 files)");
  expect(paths).toContain("a/small/0.txt");
  expect(paths).toContain("z/one.txt");
  expect(paths.some((path) => path.startsWith("a/large/"))).toBe(false);
  expect(result.details).toMatchObject({ truncated: true });
  expect(textOf(result.content)).toContain("list one of them by path, or raise limit");
});

test("with more folders than fit, the largest are listed and the others named, uncut", async () => {
  const name = (nth: number, end = ""): string => `package-${String(nth).padStart(3, "0")}${end}`;
  const folders = (end?: string) => Array.from({ length: 200 }, (_, nth) => [`${name(nth, end)}/a.txt`, ""]);
  const { list } = stage(Object.fromEntries([...folders(), [`${name(199)}/b.txt`, ""]]));
  const { result } = await list({ recursive: true, limit: 50 });
  const text = textOf(result.content);
  expect(text).toContain(`${name(199)}/  (2 files)`);
  expect(Array.from({ length: 200 }, (_, nth) => name(nth)).filter((each) => !text.includes(each))).toEqual([]);

  const long = stage(Object.fromEntries(folders("-long".repeat(46))));
  const cut = textOf((await long.list({ recursive: true })).result.content);
  expect(Buffer.byteLength(cut)).toBeLessThan(50 * 1024);
  expect(cut).toMatch(/^\[Other folders: .* and \d+ more\]$/m);
  expect(cut).toMatch(/^\[\d+ entries are shown\./m);
});

test("a file, a missing folder and an outside folder are refused with different errors", async () => {
  const { list } = stage({ "a.txt": "", "sources/x": "" });
  expect((await list({ path: "a.txt" })).result).toMatchObject({ error: { code: "not_directory" } });
  expect((await list({ path: "source" })).result).toMatchObject({
    error: { code: "path_not_found", data: { near: ["sources"] } },
  });
  expect((await list({ path: ".." })).result).toMatchObject({ error: { code: "path_denied" } });
  expect(textOf((await list({ path: "sources/../sources" })).result.content)).toBe("x  0");
});

test("recursive does not blame .gitignore for folders that have no files", async () => {
  const { folder, list } = stage({ ".gitignore": "made\n", "a.txt": "", "made/b.txt": "" });
  mkdirSync(join(folder, "loop"));
  symlinkSync(".", join(folder, "loop/self"));
  mkdirSync(join(folder, "empty/inner"), { recursive: true });
  const { result, paths } = await list({ recursive: true });
  expect(paths).toEqual(expect.arrayContaining(["loop", "empty"]));
  expect(textOf(result.content)).toContain("[Excluded by .gitignore and not listed: made/]");
});
