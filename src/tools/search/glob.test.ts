import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft, type Haft } from "../../runtime.ts";
import { createGlobTool } from "./glob.ts";
import { createRipgrep, type RipgrepEngine } from "./ripgrep.ts";
import type { SearchDependencies } from "./search-scope.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = temporaryFolder("glob-");
  root = join(base, "root");
  mkdirSync(root);
});

/** Each file is one second newer than the previous one. */
function plant(...paths: string[]): void {
  for (const [i, path] of paths.entries()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), path);
    utimesSync(join(root, path), 1_700_000_000 + i, 1_700_000_000 + i);
  }
}

function open(engine?: RipgrepEngine, more: Partial<SearchDependencies> = {}): Haft {
  const files = createFiles(createPathPolicy({ workspace: root }));
  return createHaft({
    folder: root,
    tools: [createGlobTool({ files, ripgrep: createRipgrep({ engine }), ...more })],
  });
}

interface Found {
  files: string[];
  truncated: boolean;
  text: string;
}

async function glob(input: Record<string, unknown>, haft = open()): Promise<Found> {
  const result = await haft.execute("glob", input);
  if (result.status !== "completed") throw new Error(`${result.status}: ${JSON.stringify(result)}`);
  const [block] = result.content;
  return { ...(result.details as Omit<Found, "text">), text: block?.type === "text" ? block.text : "" };
}

describe.each(["native", "wasm"] as const)("glob with the %s engine", (engine) => {
  test("finds files newest first and respects .gitignore without a repository", async () => {
    plant("a.ts", "src/b.ts", "src/c.gen.ts", "node_modules/x/d.ts", "pkg/e.ts", "pkg/out/f.ts", ".hid/g.ts");
    writeFileSync(join(root, ".gitignore"), "node_modules/\n*.gen.ts\n");
    writeFileSync(join(root, "pkg/.gitignore"), "out/\n");
    const haft = open(engine);
    expect((await glob({ pattern: "**/*.ts" }, haft)).files).toEqual([".hid/g.ts", "pkg/e.ts", "src/b.ts", "a.ts"]);
    expect((await glob({ pattern: "**/*.ts", hidden: false }, haft)).files).toEqual(["pkg/e.ts", "src/b.ts", "a.ts"]);
    const all = await glob({ pattern: "**/*.ts", respect_gitignore: false }, haft);
    expect(all.files).toEqual([
      ".hid/g.ts",
      "pkg/out/f.ts",
      "pkg/e.ts",
      "node_modules/x/d.ts",
      "src/c.gen.ts",
      "src/b.ts",
      "a.ts",
    ]);
  });

  test("rules of parent folders apply, but an ignored folder can be searched explicitly", async () => {
    plant("a/b/keep.ts", "a/b/drop.gen.ts", "a/b/node_modules/x.ts");
    writeFileSync(join(root, ".gitignore"), "node_modules\n");
    writeFileSync(join(root, "a/.gitignore"), "*.gen.ts\n");
    const haft = open(engine);
    expect((await glob({ pattern: "**/*.ts", path: "a/b" }, haft)).files).toEqual(["a/b/keep.ts"]);
    expect((await glob({ pattern: "a/b/**/*.ts" }, haft)).files).toEqual(["a/b/keep.ts"]);
    expect((await glob({ pattern: "a/b/node_modules/*.ts" }, haft)).files).toEqual(["a/b/node_modules/x.ts"]);
  });

  test("a name may contain anything, and a pattern is never an option", async () => {
    plant("--help", "new\nline.txt", "ünï.txt", " lead.txt");
    const haft = open(engine);
    expect((await glob({ pattern: "--help" }, haft)).files).toEqual(["--help"]);
    expect((await glob({ pattern: "*.txt" }, haft)).files).toEqual([" lead.txt", "ünï.txt", "new\nline.txt"]);
  });
});

test("brackets match an existing path literally, otherwise as a set", async () => {
  plant("app/[id]/(group)/page.tsx", "app/i/(group)/page.tsx", "app/d/(group)/page.tsx");
  expect((await glob({ pattern: "app/[id]/(group)/page.tsx" })).files).toEqual(["app/[id]/(group)/page.tsx"]);
  expect((await glob({ pattern: "**/[id]/**" })).files).toEqual(["app/[id]/(group)/page.tsx"]);
  rmSync(join(root, "app/[id]"), { recursive: true });
  expect((await glob({ pattern: "app/[id]/*/page.tsx" })).files).toEqual([
    "app/d/(group)/page.tsx",
    "app/i/(group)/page.tsx",
  ]);
});

test("no pattern finds anything outside the allowed paths", async () => {
  plant("in.txt");
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/secret.txt"), "secret");
  symlinkSync("../outside", join(root, "link"));
  symlinkSync("../outside/secret.txt", join(root, "file-link.txt"));
  const haft = open();
  for (const pattern of [
    "{..,x}/**",
    "[.][.]/**",
    "**/*",
    "link/*",
    "../**",
    `${base}/outside/*`,
    "x/../../outside/*",
  ]) {
    const result = await haft.execute("glob", { pattern });
    expect(JSON.stringify(result.details ?? {}), pattern).not.toContain("secret");
    expect(["path_denied", undefined], pattern).toContain(result.status === "failed" ? result.error.code : undefined);
  }
});

test("protected files are neither listed nor counted", async () => {
  plant("a.txt", ".env", "id_rsa", "server.key", ".ssh/config");
  // These times do not check the policy, so they are not what excludes the files.
  const modifiedTimes = { max: 100, of: (_: string, paths: readonly string[]) => Promise.resolve(paths.map(() => 0)) };
  for (const haft of [
    open(),
    open(undefined, { modifiedTimes }),
    open(undefined, { modifiedTimes: { ...modifiedTimes, max: 1 } }),
  ]) {
    expect(await glob({ pattern: "**/*", limit: 1 }, haft)).toMatchObject({ files: ["a.txt"], truncated: false });
  }
});

test("internal folders of version control are never found", async () => {
  plant(".git/HEAD", "sub/.git/config", ".hg/store", "a.txt");
  expect((await glob({ pattern: "**/*", respect_gitignore: false })).files).toEqual(["a.txt"]);
});

test("a truncated result says so and advises to narrow", async () => {
  plant(...Array.from({ length: 12 }, (_, i) => `f${i}.txt`));
  const found = await glob({ pattern: "*.txt", limit: 3 });
  expect(found.files).toEqual(["f11.txt", "f10.txt", "f9.txt"]);
  expect(found.truncated).toBe(true);
  expect(found.text).toContain("Narrow by path");
  expect(found.text).not.toMatch(/\b12\b/);
});

test("too many files to sort by time are in path order, and the result says so", async () => {
  plant("c.txt", "a.txt", ".env.txt", "b.txt", "d.txt");
  const modifiedTimes = { max: 2, of: () => Promise.reject(new Error("not asked")) };
  const found = await glob({ pattern: "*.txt", limit: 2, hidden: false }, open(undefined, { modifiedTimes }));
  expect(found.files).toEqual(["a.txt", "b.txt"]);
  expect(found.text).toContain("in path order");
});

test("finding nothing succeeds with hints", async () => {
  plant("deep/a.ts");
  expect((await glob({ pattern: "*.ts" })).text).toContain("**/*.ts");
  expect((await glob({ pattern: "nowhere/*.ts" })).text).toContain("does not exist");
});

test("case can be ignored", async () => {
  plant("A.TXT", "b.txt");
  expect((await glob({ pattern: "*.txt", case_sensitive: false })).files).toEqual(["b.txt", "A.TXT"]);
});

test.each([
  [{ pattern: "  " }, "invalid_input"],
  [{ pattern: "a\0b" }, "invalid_input"],
  [{ pattern: "*", path: "missing" }, "path_not_found"],
  [{ pattern: "*", path: "file.txt" }, "not_directory"],
  [{ pattern: "*", path: ".." }, "path_denied"],
  [{ pattern: "{a,b}".repeat(30) }, "bad_pattern"],
])("%j is refused as %s", async (input, code) => {
  plant("file.txt");
  expect(await open().execute("glob", input)).toMatchObject({ success: false, error: { code } });
});

test("a narrowed call sees only its own paths", async () => {
  plant("a/x.ts", "b/y.ts");
  const haft = open();
  expect(await haft.execute("glob", { pattern: "**/*.ts" }, { allowedPaths: ["a"] })).toMatchObject({
    error: { code: "path_denied" },
  });
  expect(await haft.execute("glob", { pattern: "*.ts", path: "a" }, { allowedPaths: ["a"] })).toMatchObject({
    details: { files: ["a/x.ts"] },
  });
});

test("is also available as Glob", async () => {
  plant("a.ts");
  expect(await open().execute("Glob", { pattern: "*.ts" })).toMatchObject({
    toolName: "glob",
    details: { files: ["a.ts"] },
  });
});
