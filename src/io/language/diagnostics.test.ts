import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../../../test/setup/bundle-program.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles, replacePolicy } from "../files/files.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { findProcessTree, readProcess } from "../shell/process-tree.ts";
import { type CheckedFile, type DiagnosticOptions, Diagnostics } from "./diagnostics.ts";
import { createFrameReader } from "./framed-process.ts";

const SERVER = fileURLToPath(new URL("./scripted-server.fixture.mjs", import.meta.url));
/** Starting programs takes time: the rest runs with all tests only. */
const isFull = process.env["HAFT_FULL"] === "1";
const never = new AbortController().signal;

interface Staged extends DiagnosticOptions {
  mode?: string;
  isConfined?: boolean;
  allowedPaths?: string[];
}

/** A workspace with the scripted server, which is for .txt and .md. */
function stage({ mode, isConfined = true, allowedPaths, ...options }: Staged = {}) {
  const folder = temporaryFolder("haft-language-");
  const script = join(folder, "server.mjs");
  cpSync(SERVER, script);
  const files = createFiles(createPathPolicy({ workspace: folder, allowedPaths }));
  const sandbox = isConfined ? openSandbox({ files, memoryBytes: 400 * 1024 * 1024 }) : undefined;
  const scripted = { command: process.execPath, args: [script, mode ?? "", folder], extensions: [".txt", "md"] };
  const servers = mode === undefined ? undefined : { scripted };
  const diagnostics = new Diagnostics({ servers, waitMs: 60_000, ...options, sandbox, files });
  onTestFinished(async () => {
    await diagnostics.close();
    sandbox?.close();
  });
  const { workspace } = files.policy;
  const check = (after: string, { before, name = "a.txt", signal = never }: Checked = {}) => {
    const file = join(workspace, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, after);
    const old = before === undefined ? undefined : Buffer.from(before);
    return diagnostics.check([{ file, before: old, after: Buffer.from(after) }], signal);
  };
  const lines = async (...args: Parameters<typeof check>) =>
    (await check(...args)).flatMap(({ problems }) =>
      problems.map(({ line, column, code, isNew }) => `${line}:${column} ${code}${isNew ? " new" : ""}`),
    );
  const deny = (glob: string): void =>
    replacePolicy(files, createPathPolicy({ workspace: folder, allowedPaths, denyGlobs: [glob] }));
  mkdirSync(join(workspace, "private"));
  writeFileSync(join(workspace, "private/notes.txt"), "private notes");
  return { folder: workspace, diagnostics, check, lines, deny };
}

interface Checked {
  before?: string;
  name?: string;
  signal?: AbortSignal;
}

/** What a server gets of a hidden file: an empty one or a failure. */
const NOTHING = /^$|^(?:EACCES|EPERM|ENOENT)$/;

function triedIn([checked]: CheckedFile[]): unknown {
  return JSON.parse(checked?.problems[0]?.message ?? "null");
}

const isAlive = (pid: number): boolean => readProcess(pid) !== undefined;

describe("a language server", () => {
  test.each(["pull", "push"])(
    "that lets clients %s reports errors, new ones first, and not those that moved",
    async (mode) => {
      const { check, lines } = stage({ mode });
      expect(await lines("fine\n a bad line\n", { before: "fine\n" })).toEqual(["2:4 E1 new"]);
      expect(await lines("x\nfine\n a bad line\n", { before: "fine\n a bad line\n" })).toEqual(["3:4 E1"]);
      const two = { before: "x\nfine\n a bad line\n" };
      expect(await lines("a bad line\nbad\n a bad line\n", two)).toEqual(["1:3 E1 new", "2:1 E1 new", "3:4 E1"]);
      expect(await check("fine", { before: "bad", name: "b.md" })).toMatchObject([{ problems: [], before: 1 }]);
      expect(await check("bad", { name: "c.other" })).toEqual([]);
    },
  );

  test.runIf(isFull)(
    "that ends, crashes or writes garbage gives nothing, and is given up after some starts",
    async () => {
      const faults = ["exit", "crash", "garbage", "huge"].map((mode) => stage({ mode }));
      await Promise.all(
        faults.map(async ({ diagnostics, check }) => {
          for (let i = 0; i < 4; i++) expect(await check("bad")).toEqual([]);
          await expect.poll(() => diagnostics.pids()).toEqual([]);
        }),
      );
    },
  );

  test("that hangs does not delay longer than the limit, nor an aborted call, and is killed at the end", async () => {
    const { diagnostics, check } = stage({ mode: "hang", waitMs: 300 });
    expect(await check("bad")).toEqual([]);
    const aborted = stage({ mode: "hang" });
    expect(await aborted.check("bad", { signal: AbortSignal.timeout(50) })).toEqual([]);
    const [pid = 0] = await diagnostics.pids();
    expect(isAlive(pid)).toBe(true);
    await diagnostics.close();
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await check("bad")).toEqual([]);
    expect(await diagnostics.pids()).toEqual([]);
  });

  test.runIf(isFull)("runs once per workspace, and ends when it is not used", async () => {
    const { diagnostics, check } = stage({ mode: "pull", idleMs: 1_000 });
    await Promise.all([check("bad"), check("bad", { name: "b.txt" })]);
    const pids = await diagnostics.pids();
    expect(pids).toHaveLength(1);
    await expect.poll(() => pids.some(isAlive), { timeout: 20_000 }).toBe(false);
    expect(await check("bad")).toMatchObject([{ problems: [{ code: "E1" }] }]);
  });

  test("writes nothing, reads no secrets and gets none of the environment", async () => {
    process.env["SECRET_TOKEN"] = "sesame-7351";
    onTestFinished(() => void delete process.env["SECRET_TOKEN"]);
    const { folder, check } = stage({ mode: "environment" });
    writeFileSync(join(folder, ".env"), "KEY=1");
    expect(triedIn(await check("x"))).toMatchObject({
      write: expect.stringMatching(/EACCES|EROFS|EPERM/),
      secret: expect.stringMatching(NOTHING),
      token: "none",
    });
    expect(readdirSync(folder)).not.toContain("written");
  });

  test("reads nothing that was denied after it started", async () => {
    const { folder, check, deny, diagnostics } = stage({ mode: "environment" });
    expect(triedIn(await check("x"))).toMatchObject({ private: "private notes", secret: "ENOENT" });
    const pids = await diagnostics.pids();
    expect(triedIn(await check("y"))).toMatchObject({ private: "private notes" });
    expect(await diagnostics.pids()).toEqual(pids);
    deny("private/**");
    writeFileSync(join(folder, ".env"), "KEY=1");
    expect(triedIn(await check("z"))).toMatchObject({
      private: expect.stringMatching(NOTHING),
      secret: expect.stringMatching(NOTHING),
    });
  });

  test("reads nothing outside the allowed paths", async () => {
    const { check } = stage({ mode: "environment", allowedPaths: ["src", "server.mjs"] });
    expect(triedIn(await check("x", { name: "src/a.txt" }))).toMatchObject({ private: expect.stringMatching(NOTHING) });
  });

  test.runIf(isFull).each(["hog", "flood"])(
    "that uses too much memory or writes without end is ended (%s)",
    async (mode) => {
      const { check, diagnostics } = stage({ mode });
      await check("bad");
      const [pid = 0] = await diagnostics.pids();
      await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false);
    },
  );

  test("whose answer is too long is asked again about the next file", async () => {
    const { check } = stage({ mode: "long" });
    expect(await check("long")).toEqual([]);
    expect(await check("bad", { name: "b.txt" })).toMatchObject([{ problems: [{ code: "E1" }] }]);
  });

  test.runIf(isFull)("ends with its client, also if that is killed", async () => {
    const { folder } = stage({ mode: "hang" });
    const program = await bundleProgram("src/io/language/killed-client.fixture.ts", temporaryFolder("haft-killed-"));
    const child = spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [written] = (await once(child.stdout, "data")) as [Buffer];
    const root = Number(written.toString());
    const pids = findProcessTree({ pid: root, mark: "none" }).map(({ pid }) => pid);
    expect(pids).toContain(root);
    child.kill("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([]);
  });

  test("is not started if nothing confines it", async () => {
    const { diagnostics, check } = stage({ mode: "pull", isConfined: false });
    expect(await check("bad")).toEqual([]);
    expect(await diagnostics.pids()).toEqual([]);
  });

  test("with an unknown setting is refused by name", () => {
    expect(() => stage({ waitMS: 1 } as object)).toThrow(/waitMS.*waitMs/s);
  });
});

test("messages are found in every division of the stream, and garbage is reported once", () => {
  const frame = (value: unknown): Buffer => {
    const text = JSON.stringify(value);
    return Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const short = [frame({ a: "é" }), frame({ b: 2 }), Buffer.from("\n"), frame({ c: [] })];
  const long = frame({ long: "x".repeat(600_000) });
  const readAll = (stream: Buffer, size: number): unknown[] => {
    const found: unknown[] = [];
    const read = createFrameReader({
      message: (message) => found.push(message),
      skipped: () => found.push("skipped"),
      garbage: (why) => found.push(why),
    });
    for (let at = 0; at < stream.length; at += size) read(stream.subarray(at, at + size));
    return found;
  };
  for (const size of [1, 2, 3, 7, 1_000]) {
    expect(readAll(Buffer.concat(short), size)).toEqual([{ a: "é" }, { b: 2 }, { c: [] }]);
  }
  for (const size of [1_000, 1_000_000]) {
    expect(readAll(Buffer.concat([long, frame({ a: 1 })]), size)).toEqual(["skipped", { a: 1 }]);
  }
  const blank = `${"\n".repeat(1_000_000)}\r\n\r\n`;
  for (const garbage of ["x".repeat(10_000), blank, "Length: 1\r\n\r\n{}", "Content-Length: 2\r\n\r\n{]"]) {
    const reasons: string[] = [];
    const read = createFrameReader({
      message: () => undefined,
      skipped: () => undefined,
      garbage: (why) => reasons.push(why),
    });
    read(Buffer.from(garbage));
    read(frame({ late: true }));
    expect(reasons).toHaveLength(1);
  }
});

/** The compiler of this repository, in the workspace. */
function installTypeScript(folder: string): void {
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve("typescript/package.json"));
  for (const name of ["typescript", "@typescript"]) {
    cpSync(join(home, "..", name), join(folder, "node_modules", name), { recursive: true });
  }
}

test("TypeScript up to version 6 is asked in the protocol of tsserver", async () => {
  const { folder, check, lines } = stage();
  const home = join(folder, "node_modules/typescript");
  mkdirSync(join(home, "lib"), { recursive: true });
  writeFileSync(join(home, "package.json"), '{ "version": "6.0.3", "type": "module" }');
  cpSync(SERVER, join(home, "lib/tsserver.js"));
  expect(await lines("bad", { before: "", name: "a.ts" })).toEqual(["1:1 TS1 new"]);
  expect(await lines("x\nbad", { before: "bad", name: "a.ts" })).toEqual(["2:1 TS1"]);
  expect(await check("fine", { before: "fine", name: "b.jsx" })).toMatchObject([{ problems: [] }]);
});

test("the TypeScript of the workspace reports errors of a file, of the right version of its imports", async () => {
  const { folder, diagnostics, lines } = stage();
  expect(await lines("const a: string = 1;\n", { name: "src/a.ts" })).toEqual([]);
  installTypeScript(folder);
  writeFileSync(join(folder, "tsconfig.json"), '{ "compilerOptions": { "strict": true, "noLib": false } }');
  // Another folder: that there was no TypeScript is remembered for a moment.
  const name = "lib/b.ts";
  expect(await lines("export const b: string = 1;\n", { before: "export const b = 1;\n", name })).toEqual([
    "1:14 TS2322 new",
  ]);
  expect(await lines("export const b: number = 1;\n", { before: "export const b: string = 1;\n", name })).toEqual([]);
  const user = { name: "lib/c.ts", before: "" };
  expect(await lines('import { b } from "./b";\nconst c: number = b;\n', user)).toEqual([]);
  expect(await lines('export const b = "1";\n', { before: "export const b: number = 1;\n", name })).toEqual([]);
  const again = await lines('import { b } from "./b";\nconst c: number = b;\n', user);
  expect(again).toEqual(["2:7 TS2322 new"]);
  expect(await diagnostics.pids()).toHaveLength(1);
});
