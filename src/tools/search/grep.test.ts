import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft, type Haft } from "../../runtime.ts";
import { createGrepTool, type GrepDetails } from "./grep.ts";
import { createRipgrep, type Ripgrep, type RipgrepEngine } from "./ripgrep.ts";
import type { SearchDependencies } from "./search-scope.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = temporaryFolder("grep-");
  root = join(base, "root");
  mkdirSync(root);
});

/** Each file is one second newer than the previous one. */
function plant(files: Record<string, string | Buffer>): void {
  for (const [i, [path, content]] of Object.entries(files).entries()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    utimesSync(join(root, path), 1_700_000_000 + i, 1_700_000_000 + i);
  }
}

function open(more: Partial<SearchDependencies> = {}): Haft {
  const files = createFiles(createPathPolicy({ workspace: root }));
  return createHaft({ folder: root, tools: [createGrepTool({ files, ...more })] });
}

const engine = (name: RipgrepEngine) => open({ ripgrep: createRipgrep({ engine: name }) });

async function grep(input: Record<string, unknown>, haft = open()): Promise<GrepDetails & { text: string }> {
  const result = await haft.execute("grep", input);
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
  const [block] = result.content;
  return { ...(result.details as GrepDetails), text: block?.type === "text" ? block.text : "" };
}

describe("both engines", () => {
  const tree = () =>
    plant({
      ".gitignore": "node_modules/\n*.gen.js\n",
      "a.js": "foo one\nbar\nfoo two\n",
      "b.gen.js": "foo\n",
      "node_modules/c.js": "foo\n",
      "sub/.gitignore": "out\n!keep.gen.js\n",
      "sub/keep.gen.js": "let foo;\r\nfoo$\r\nend foo\r\n",
      "sub/out/d.js": "foo\n",
      "sub/[id]/(x).ts": "const foo = {\n  a: 1,\n};\n",
      ".hid/e.js": "foo",
      "bom.txt": "\uFEFFfoo first\nsecond foo\n",
      "utf16.txt": Buffer.from("\uFEFFone\nзнак foo\n", "utf16le"),
      "latin1.txt": Buffer.from("caf\xe9 foo\n", "latin1"),
      "binary.bin": Buffer.from("foo\n\0\0foo\n"),
      "long.txt": `${"ä".repeat(9_000)}foo${"z".repeat(9_000)}\nfoo\n`,
      "empty.txt": "",
      ".env": "foo=secret\n",
      "--regexp=x": "foo\n",
    });

  test.each<Record<string, unknown>>([
    { pattern: "foo" },
    { pattern: "foo$" },
    { pattern: "^foo", context: 1 },
    { pattern: "foo", include: "*.js" },
    { pattern: "foo", include: "sub/**", exclude: "out" },
    { pattern: "FOO", ignore_case: true, output_mode: "files_with_matches" },
    { pattern: "foo", output_mode: "count", hidden: false },
    { pattern: "foo", respect_gitignore: false, output_mode: "count" },
    { pattern: "foo = \\{.*\\}", multiline: true },
    { pattern: "foo$", fixed_strings: true },
    { pattern: "foo", limit: 3, before: 1 },
    { pattern: "foo", limit: 3, offset: 2 },
    { pattern: "foo", type: "js" },
    { pattern: "foo", path: "sub" },
    { pattern: "foo", path: "sub/keep.gen.js", max_per_file: 1 },
    { pattern: "nowhere to be found" },
    { pattern: "--regexp=x" },
    { pattern: "(" },
    { pattern: "a\nb" },
    { pattern: "^((a{0,100}){0,100}){0,100}$" },
  ])("give the same result for %j", async (input) => {
    tree();
    const answers = await Promise.all(
      [engine("native"), engine("wasm")].map(async (haft) => {
        const { content, details, display, ...rest } = await haft.execute("grep", input);
        return { content, details, display, error: "error" in rest ? rest.error : undefined };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  test("give the right result", async () => {
    tree();
    const { matches, files, truncated } = await grep({ pattern: "foo" });
    expect(truncated).toBe(false);
    expect(files).toEqual([
      "--regexp=x",
      "long.txt",
      "latin1.txt",
      "utf16.txt",
      "bom.txt",
      ".hid/e.js",
      "sub/[id]/(x).ts",
      "sub/keep.gen.js",
      "a.js",
    ]);
    expect(matches).toContainEqual({ path: "a.js", line: 3, text: "foo two" });
    expect(matches).toContainEqual({ path: "sub/keep.gen.js", line: 3, text: "end foo" });
    expect(matches).toContainEqual({ path: "bom.txt", line: 1, text: "foo first" });
    expect(matches).toContainEqual({ path: "utf16.txt", line: 2, text: "знак foo" });
    const atLineEnds = await grep({ pattern: "foo$", include: "keep.gen.js" });
    expect(atLineEnds.matches).toEqual([{ path: "sub/keep.gen.js", line: 3, text: "end foo" }]);
    const long = matches.find(({ path, line }) => path === "long.txt" && line === 1);
    expect(long?.text).toMatch(/^…ä+fooz+…$/);
    expect(long?.text.length).toBeLessThan(510);
  });
});

test("falls back to wasm if the native engine does not start", async () => {
  plant({ "a.txt": "foo\n" });
  const haft = open({ ripgrep: createRipgrep({ binary: join(root, "no-such-program") }) });
  expect((await grep({ pattern: "foo" }, haft)).count).toBe(1);
});

test("shows lines with path, number and context, newest file first", async () => {
  plant({ "old.txt": "x\nfoo\ny\n", "new.txt": "1\n2\nfoo\n4\n5\n6\nfoo\n" });
  expect((await grep({ pattern: "foo" })).text).toBe("new.txt:3: foo\nnew.txt:7: foo\nold.txt:2: foo");
  expect((await grep({ pattern: "foo", "-B": 1, path: "new.txt" })).text).toBe(
    "new.txt-2- 2\nnew.txt:3: foo\n--\nnew.txt-6- 6\nnew.txt:7: foo",
  );
  expect((await grep({ pattern: "foo", limit: 1, "-C": 1 })).text).toMatch(
    /^new\.txt-2- 2\nnew\.txt:3: foo\nnew\.txt-4- 4\n\[Truncated/,
  );
  expect((await grep({ pattern: "foo", "-n": false, path: "old.txt" })).text).toBe("old.txt: foo");
});

test("include, exclude and hidden select files; an include does not override .gitignore", async () => {
  plant({
    ".gitignore": "*.gen.ts\n",
    "a.gen.ts": "foo",
    "src/b.ts": "foo",
    "src/b.test.ts": "foo",
    "lib/c.ts": "foo",
    ".d/e.ts": "foo",
  });
  const files = async (input: object) => (await grep({ pattern: "foo", ...input })).files;
  expect(await files({ include: "*.ts" })).toEqual([".d/e.ts", "lib/c.ts", "src/b.test.ts", "src/b.ts"]);
  expect(await files({ include: "src/**/*.ts" })).toEqual(["src/b.test.ts", "src/b.ts"]);
  expect(await files({ glob: "*.ts,!*.test.ts", hidden: false })).toEqual(["lib/c.ts", "src/b.ts"]);
  expect(await files({ exclude: "/src,.d" })).toEqual(["lib/c.ts"]);
  expect(await files({ path: "src", include: "src/*.test.*" })).toEqual(["src/b.test.ts"]);
});

test("a truncated result says how to continue, and continuing misses nothing", async () => {
  plant(Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`f${i}.txt`, "foo\nfoo\n"])));
  const all = (await grep({ pattern: "foo" })).matches;
  const pages = [];
  for (let offset = 0; ; offset += 5) {
    const page = await grep({ pattern: "foo", limit: 5, offset });
    pages.push(...page.matches);
    if (!page.truncated) break;
    expect(page.text).toContain(`offset=${offset + 5}`);
    expect(page.text).not.toContain("14");
  }
  expect(pages).toEqual(all);
  expect((await grep({ pattern: "foo", limit: 5, offset: 20 })).text).toContain("No more matches");
});

test("the other modes return files and counts", async () => {
  plant({ "a.txt": "foo\nfoo foo\n", "b.txt": "foo\n", "c.txt": "bar\n" });
  expect(await grep({ pattern: "foo", output_mode: "files" })).toMatchObject({
    files: ["b.txt", "a.txt"],
    text: "b.txt\na.txt",
  });
  const counted = await grep({ pattern: "foo", output_mode: "count" });
  expect(counted).toMatchObject({
    count: 3,
    counts: [
      { path: "b.txt", count: 1 },
      { path: "a.txt", count: 2 },
    ],
  });
  expect(counted.text).toBe("b.txt: 1\na.txt: 2\nTotal: 3 matching lines in 2 files.");
});

test("protected files affect no mode, count or truncation", async () => {
  plant({
    "a.txt": "token\n",
    ".env": "token=1\n",
    id_rsa: "token\n",
    "x/.ssh/config": "token\n",
    "server.pem": "token",
  });
  expect(await grep({ pattern: "token", limit: 1 })).toMatchObject({ files: ["a.txt"], count: 1, truncated: false });
  expect(await grep({ pattern: "token", output_mode: "count" })).toMatchObject({ count: 1, files: ["a.txt"] });
  expect(await grep({ pattern: "token", output_mode: "files_with_matches", limit: 1 })).toMatchObject({
    files: ["a.txt"],
    truncated: false,
  });
  expect(await open().execute("grep", { pattern: "token", path: ".env" })).toMatchObject({
    error: { code: "path_denied" },
  });
});

test("links out of the workspace are not followed", async () => {
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/secret.txt"), "foo secret");
  plant({ "a.txt": "foo\n" });
  symlinkSync("../outside", join(root, "folder"));
  symlinkSync("../outside/secret.txt", join(root, "link.txt"));
  expect((await grep({ pattern: "foo" })).files).toEqual(["a.txt"]);
  for (const path of ["folder", "link.txt", "../outside"]) {
    expect(await open().execute("grep", { pattern: "foo", path }), path).toMatchObject({
      error: { code: "path_denied" },
    });
  }
});

test("a folder swapped for a link during the search reveals nothing outside", async () => {
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/x.txt"), "foo secret\n");
  plant({ "dir/x.txt": "foo public\n" });
  const real = createRipgrep();
  const swapping: Ripgrep = {
    async run(search) {
      if (search.files) {
        rmSync(join(root, "dir"), { recursive: true });
        symlinkSync("../outside", join(root, "dir"));
      }
      return real.run(search);
    },
  };
  const result = await open({ ripgrep: swapping }).execute("grep", { pattern: "foo" });
  expect(JSON.stringify(result)).not.toContain("secret");
});

test("at the time limit a partial result is shown and marked", async () => {
  plant({ "a.txt": "foo\n", "b.txt": "foo\n" });
  const real = createRipgrep();
  const stopped: Ripgrep = {
    async run(search) {
      const answer = await real.run(search);
      if (search.files) return answer;
      return { ...answer, output: answer.output.slice(0, answer.output.indexOf("\0") + 5), end: "time" };
    },
  };
  const part = await grep({ pattern: "foo" }, open({ ripgrep: stopped }));
  expect(part.matches).toHaveLength(1);
  expect(part.truncated).toBe(true);
  expect(part.text).toContain("time limit was reached");
  const none = await grep({ pattern: "foo" }, open({ timeLimitMs: 1, ripgrep: createRipgrep({ engine: "wasm" }) }));
  expect(none).toMatchObject({ count: 0, truncated: true });
  expect(none.text).toContain("time limit was reached");
});

test("cancelling the call ends the search", async () => {
  plant({ "a.txt": "foo\n" });
  const controller = new AbortController();
  const call = open({ ripgrep: createRipgrep({ engine: "wasm" }) }).execute(
    "grep",
    { pattern: "foo" },
    { signal: controller.signal },
  );
  setTimeout(() => controller.abort(), 20);
  expect(await call).toMatchObject({ status: "failed", error: { code: "cancelled" } });
});

test("an invalid pattern is refused with the reason and an alternative", async () => {
  plant({ "a.txt": "f(x\n" });
  const result = await open().execute("grep", { pattern: "f(x" });
  expect(result).toMatchObject({
    error: {
      code: "bad_pattern",
      message: expect.stringContaining("unclosed group"),
      next: expect.stringContaining("fixed_strings"),
    },
  });
  expect((await grep({ pattern: "f(x", fixed_strings: true })).count).toBe(1);
  expect(await open().execute("grep", { pattern: "a\nb" })).toMatchObject({
    error: { next: expect.stringContaining("multiline") },
  });
  expect(await open().execute("grep", { pattern: "a", type: "nosuchtype" })).toMatchObject({
    error: { code: "invalid_input" },
  });
});

test("finding nothing succeeds and reports how much was searched", async () => {
  plant({ "a.txt": "x\n", "b.txt": "y\n" });
  const nothing = await grep({ pattern: "foo" });
  expect(nothing).toMatchObject({ matches: [], count: 0, truncated: false, searched: 2 });
  expect(nothing.text).toContain("2 files searched");
});

test("searching a binary file reports that it is not text", async () => {
  plant({ "x.bin": Buffer.from([0, 1, 2, 0, 102, 111, 111]) });
  expect((await grep({ pattern: "foo", path: "x.bin" })).text).toContain("not text");
});

test("the size of a result is limited", async () => {
  plant({ "a.txt": `${"foo ".repeat(200)}\n`.repeat(1_000) });
  const found = await grep({ pattern: "foo", limit: 1_000 });
  expect(found.text.length).toBeLessThan(50_000);
  expect(found.truncated).toBe(true);
  expect(found.text).toContain("are cut");
});
