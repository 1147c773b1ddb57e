import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { createHaft, type HaftOptions } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { openWorkspace } from "../../workspace.ts";
import { shareFairly } from "./read-many.ts";

interface ReadDetails {
  files: { path: string; content?: string; nextOffset?: number | null; error?: { code: string } }[];
  empty: string[];
  cut: string[];
}

function stage(content: Record<string, string | Buffer>, options: Omit<HaftOptions, "workspace"> = {}) {
  const folder = temporaryFolder("haft-read-many-");
  for (const [path, bytes] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const haft = createHaft({ ...options, workspace: openWorkspace(folder) });
  onTestFinished(() => haft.shutdown());
  const readMany = async (paths: string[], more: object = {}) => {
    const result = await haft.execute("read_many", { paths, ...more });
    return { result, text: textOf(result.content), details: result.details as ReadDetails };
  };
  return { folder, haft, readMany };
}

const pathsOf = ({ files }: ReadDetails): string[] => files.map(({ path }) => path);

test("read_many keeps the contract of tools", async () => {
  const { folder, haft } = stage({ "package.json": "{}\n", "src/a.ts": "one\n" });
  await testTool(haft.tools.registry.get("read_many")!, {
    runtime: { folder },
    badInputs: [{}, { paths: [] }, { paths: [""] }, { paths: ["a"], offset: 1 }],
  });
});

test("reads paths and patterns, each file once, in the order of the call", async () => {
  const { readMany } = stage({ "b.txt": "bee\n", "src/a.ts": "one\n", "src/deep/b.ts": "two\n", "src/c.md": "no\n" });
  const { text, details } = await readMany(["b.txt", "src/**/*.ts", "./b.txt", "src/a.ts"]);
  expect(pathsOf(details)).toEqual(["b.txt", "src/a.ts", "src/deep/b.ts"]);
  expect(text).toBe("--- b.txt ---\n1\tbee\n--- src/a.ts ---\n1\tone\n--- src/deep/b.ts ---\n1\ttwo");
});

test("patterns honour .gitignore and exclude; a path is read although it is ignored", async () => {
  const { readMany } = stage({ ".gitignore": "*.log\n", "a.log": "a", "b.txt": "b", "c.txt": "c", "[x]*.txt": "odd" });
  expect(pathsOf((await readMany(["*.{log,txt}"], { exclude: ["c.*"] })).details)).toEqual(["[x]*.txt", "b.txt"]);
  expect(pathsOf((await readMany(["a.log"])).details)).toEqual(["a.log"]);
  expect(pathsOf((await readMany(["*.log"], { respect_gitignore: false })).details)).toEqual(["a.log"]);
  expect(pathsOf((await readMany(["[x]*.txt"])).details)).toEqual(["[x]*.txt"]);
});

test("exclude applies before the limit, and without a slash to names", async () => {
  const sources = Array.from({ length: 30 }, (_, index) => [`src/${index}.ts`, "a"]);
  const tests = Array.from({ length: 120 }, (_, index) => [`src/${index}.test.ts`, "b"]);
  const { folder, readMany } = stage(Object.fromEntries([...sources, ...tests, ["src/gen/x.ts", "c"]]));
  for (const [path = ""] of sources) utimesSync(join(folder, path), 1, 1);
  for (const exclude of ["**/*.test.ts", "*.test.ts"]) {
    expect((await readMany(["src/*.ts"], { exclude: [exclude] })).details).toMatchObject({
      files: { length: 30 },
      empty: [],
      cut: [],
    });
  }
  const { details } = await readMany(["src/**/*.ts"], { exclude: ["*.test.ts", "gen"] });
  expect(pathsOf(details)).not.toContain("src/gen/x.ts");
});

test("a spilled output gets its share", async () => {
  const { haft, readMany } = stage({ "a.txt": "one" });
  const output = { callId: "c", toolName: "exec", caller: { depth: 0 }, text: "spilled\n".repeat(10) };
  const { ref } = await haft.calls.spill.save(output);
  const { text, details } = await readMany([ref, "a.txt"]);
  expect(text).toContain("10\tspilled\n--- a.txt ---\n1\tone");
  expect(details.files.map(({ nextOffset }) => nextOffset)).toEqual([null, null]);
});

test("a file that cannot be read is named, and the others are read", async () => {
  const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  const { folder, readMany } = stage({ "a.txt": "one", ".env": "KEY=1", "p.png": png, "src/x.ts": "" });
  symlinkSync("/etc/hostname", join(folder, "out"));
  const { text, details } = await readMany(["a.tx", ".env", "out", "p.png", "src", "none/*.ts", "a.txt"]);
  expect(details.files.map(({ path, error }) => [path, error?.code])).toEqual([
    ["a.tx", "path_not_found"],
    [".env", "path_denied"],
    ["out", "path_denied"],
    ["p.png", "not_regular_file"],
    ["src", "is_directory"],
    ["a.txt", undefined],
  ]);
  expect(text).toContain("Did you mean a.txt?");
  expect(text).toContain("Use src/** for the files below it");
  expect(text).toContain("[No file matches none/*.ts.]");
  expect(text).not.toContain("KEY=1");
});

test("fails if no file can be read", async () => {
  const { readMany } = stage({ "a.txt": "one" });
  expect((await readMany(["x.txt", "y.txt"])).result).toMatchObject({
    success: false,
    error: { code: "path_not_found" },
  });
  expect((await readMany(["*.none"])).result).toMatchObject({ success: false, error: { code: "path_not_found" } });
});

test("short files are whole, long ones share the rest, and each says how to continue", async () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `line ${i + 1} of a long file\n`).join("");
  const { haft, readMany } = stage({
    "a.log": long,
    "b.log": long,
    "short.txt": "one\ntwo\n",
    "wide.txt": "x".repeat(99_000),
  });
  const { text, details } = await readMany(["a.log", "short.txt", "b.log", "wide.txt"]);
  const [a, short, b, wide] = details.files;
  expect(short).toMatchObject({ content: "one\ntwo\n", nextOffset: null });
  expect(a?.nextOffset).toBe(b?.nextOffset);
  expect(Buffer.byteLength(a?.content ?? "")).toBeGreaterThan(10_000);
  expect(Buffer.byteLength(text)).toBeLessThan(80_000);
  expect(wide).toMatchObject({ truncated: true });
  const rest = await haft.execute("read", { path: "a.log", offset: a?.nextOffset ?? 0, limit: 1 });
  expect(rest.details).toMatchObject({ content: `line ${a?.nextOffset} of a long file` });
});

test("at most 100 files are read, and patterns with more say so", async () => {
  const { readMany } = stage(
    Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`f${i}.txt`, "x".repeat(3_000)])),
  );
  const { text, details } = await readMany(["*.txt"]);
  expect(details.files).toHaveLength(100);
  expect(details.cut).toEqual(["*.txt"]);
  expect(Buffer.byteLength(text)).toBeLessThan(80_000);
  expect(details.files.every(({ content }) => (content ?? "") !== "")).toBe(true);
});

test("a cut notebook is bounded, too", async () => {
  const cells = Array.from({ length: 200 }, (_, i) => ({ cell_type: "code", source: `print(${i})`.repeat(50) }));
  const { readMany } = stage({ "n.ipynb": JSON.stringify({ cells }), "a.txt": "one" });
  const { text, details } = await readMany(["n.ipynb", "a.txt"]);
  expect(Buffer.byteLength(text)).toBeLessThan(60_000);
  expect(text).toMatch(/Continue with read \{"path":"n\.ipynb","pages":"\d+-"\}/);
  expect(details.files[0]).toMatchObject({ truncated: true });
});

test("what was read may be edited; what was cut may not be replaced as a whole", async () => {
  const approver = async () => ({ approved: true, by: "test" });
  const { haft, readMany } = stage({ "a.txt": "one\n", "b.log": "x y\n".repeat(30_000) }, { approver });
  await readMany(["*.{txt,log}"]);
  expect(await haft.execute("write", { path: "a.txt", content: "two\n" })).toMatchObject({ success: true });
  expect(await haft.execute("write", { path: "b.log", content: "" })).toMatchObject({ error: { code: "not_read" } });
});

test("a rule denies the call if it forbids a named file, and names it; a pattern does not find such a file", async () => {
  const rules = [{ origin: "user", deny: ["Read(secret/**)"] }];
  const { readMany } = stage({ "a.txt": "one", "secret/b.txt": "two" }, { rules });
  const named = await readMany(["a.txt", "secret/b.txt"]);
  expect(named.result).toMatchObject({ success: false, error: { code: "denied" } });
  expect(named.text).toContain("secret/b.txt");
  const { result, text } = await readMany(["**/*.txt"]);
  expect(result).toMatchObject({ success: true });
  expect(text).toContain("one");
  expect(text).not.toMatch(/two|b\.txt/);
});

test("a person who is asked sees every file, and a file that appears later is not read", async () => {
  const asked: string[] = [];
  const { folder, readMany } = stage(
    { "a.txt": "one", "b.txt": "two" },
    {
      rules: [{ origin: "user", ask: ["Read(b.txt)"] }],
      approver: async ({ preview }) => {
        asked.push(textOf(preview?.content ?? []));
        writeFileSync(join(folder, "c.txt"), "three");
        return { approved: true, by: "test" };
      },
    },
  );
  const { details } = await readMany(["*.txt"]);
  expect(asked).toEqual(["a.txt\nb.txt"]);
  expect(pathsOf(details)).toEqual(["a.txt", "b.txt"]);
});

test("a name cannot imitate another line of what a person is asked", async () => {
  const asked: string[] = [];
  const odd = "x\ny.txt";
  const { haft, readMany } = stage(
    { [odd]: "one", "b.txt": "two" },
    {
      rules: [{ origin: "user", ask: ["Read(**)"] }],
      approver: async ({ preview }) => {
        asked.push(`${preview?.title}: ${textOf(preview?.content ?? [])}`);
        return { approved: true, by: "test" };
      },
    },
  );
  await readMany(["*.txt"]);
  await haft.execute("read", { path: odd });
  expect(asked).toEqual(['Read 2 files: b.txt\n"x\\ny.txt"', 'Read "x\\ny.txt": "x\\ny.txt"']);
});

test("allowed paths of a call bound it, and a pattern shows nothing outside of them", async () => {
  const { haft } = stage({ "in/a.txt": "one", "other/b.txt": "two" });
  const result = await haft.execute("read_many", { paths: ["**/*.txt"] }, { allowedPaths: ["in"] });
  expect(textOf(result.content)).toBe("--- in/a.txt ---\n1\tone");
  const named = await haft.execute("read_many", { paths: ["other/b.txt", "in/a.txt"] }, { allowedPaths: ["in"] });
  expect(named.details).toMatchObject({ files: [{ error: { code: "path_denied" } }, { content: "one" }] });
});

test("shares are fair", () => {
  expect(shareFairly([10, 1_000, 1_000], 210)).toEqual([10, 100, 100]);
  expect(shareFairly([10, 20], 100)).toEqual([10, 20]);
  expect(shareFairly([], 100)).toEqual([]);
});

test("long paths count as a part of the result", async () => {
  const name = (index: number) => `${"a-folder-with-a-long-name/".repeat(6)}${index}.txt`;
  const files = Array.from({ length: 100 }, (_, index) => [name(index), "one word and another\n".repeat(100)]);
  const { text } = await stage(Object.fromEntries(files)).readMany(["**/*.txt"]);
  expect(estimatedTokens.count(text)).toBeLessThan(15_000);
});
