// A whole host, and what it writes where.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ToolResult } from "haft";
import { openHaft } from "haft/host";
import { describe, expect, onTestFinished, test } from "vitest";
import { textOf } from "../../src/core/content.ts";
import { childEnd } from "../setup/child-end.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const LONG = Array.from({ length: 6000 }, (_, i) => `line ${i + 1}`).join("\n");

function makeFolders() {
  const root = temporaryFolder("haft-host-state-");
  const [workspace, home, stateFolder] = ["work", "home", "state"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [workspace, home]) mkdirSync(folder);
  writeFileSync(join(workspace, "a.txt"), "a\n");
  return { root, workspace, home, stateFolder };
}

async function openHost({ home, workspace, stateFolder }: ReturnType<typeof makeFolders>) {
  const host = await openHaft(workspace, {
    ...{ home, env: {}, stateFolder },
    approver: async ({ suggestedRules }) => ({
      ...{ approved: true, by: "ada" },
      scope: suggestedRules.length > 0 ? "always" : "once",
    }),
    tools: [{ name: "talk", description: "Talks", kind: "readonly", parameters: [], run: () => LONG } as never],
  });
  onTestFinished(() => host.close());
  return host;
}

const refOf = (result: ToolResult): string => result.metadata.spill?.ref ?? "";

describe("a host", () => {
  test("writes nothing for itself into the workspace", async () => {
    const folders = makeFolders();
    const host = await openHost(folders);
    const caller = { session: "one" };
    await host.haft.execute("read", { path: "a.txt" }, { caller });
    await host.haft.execute("write", { path: "b.txt", content: "b\n" }, { caller, id: "w" });
    await host.haft.execute("exec", { command: "seq 1 3000" }, { caller });
    await host.haft.execute("talk", {}, { caller });
    await host.haft.execute("write", { path: "c.txt", content: "c\n" }, { caller, background: true });
    await host.undo.undoCall("w");
    await host.sessions.create({ key: "main" });
    await host.close();
    expect(readdirSync(folders.workspace).filter((name) => name !== "c.txt")).toEqual(["a.txt"]);
    expect(readdirSync(folders.stateFolder)).toEqual(
      expect.arrayContaining(["config.yml", "haft.db", "spill", "state.json"]),
    );
    expect(readdirSync(folders.home).filter((name) => name !== ".config")).toEqual([]);
  });

  test("keeps its state closed to file tools, also if it lies in the workspace", async () => {
    const { root, workspace, home } = makeFolders();
    const stateFolder = join(workspace, "deep", "state");
    const host = await openHost({ root, workspace, home, stateFolder });
    for (const [tool, input] of [
      ["read", { path: "deep/state/haft.db" }],
      ["read", { path: join(stateFolder, "state.json") }],
      ["write", { path: "deep/state/config.yml", content: "permissions: { allow: [exec] }" }],
      ["move_file", { from: "deep", to: "elsewhere" }],
      ["delete_file", { path: "deep", recursive: true }],
    ] as const) {
      expect(await host.haft.execute(tool, input), `${tool} ${JSON.stringify(input)}`).toMatchObject({
        error: { code: "path_denied" },
      });
    }
    const found = await host.haft.execute("grep", { pattern: "workspace", path: "deep" });
    expect(found.details).toMatchObject({ files: [] });
  });
});

describe("an output that is too long", () => {
  test("is read and searched by its address in the session that made it, and in no other", async () => {
    const host = await openHost(makeFolders());
    const caller = { session: "one" };
    const result = await host.haft.execute("talk", {}, { caller });
    const path = refOf(result);
    expect(path).toMatch(/^spill:/);
    expect(textOf(result.content)).toMatch(new RegExp(`Continue with read {"path":"${path}","offset":\\d+}\\.`));
    const read = await host.haft.execute("read", { path, offset: 4000, limit: 2 }, { caller });
    expect(read.details).toMatchObject({ path, content: "line 4000\nline 4001", totalLines: 6000 });
    const found = await host.haft.execute("grep", { path, pattern: "^line 55[0-9]5$" }, { caller });
    expect(found.details).toMatchObject({
      files: [path],
      count: 10,
      matches: expect.arrayContaining([{ path, line: 5505, text: "line 5505" }]),
    });
    expect(textOf(found.content)).toContain(`${path}:5505: line 5505`);
    for (const tool of ["read", "grep"]) {
      const input = tool === "read" ? { path } : { path, pattern: "line" };
      expect(await host.haft.execute(tool, input, { caller: { session: "two" } })).toMatchObject({
        error: { code: "path_not_found", message: expect.stringContaining("of this session") },
      });
    }
    expect(await host.haft.calls.spill.read(path), "for the HTTP and the MCP server").toBe(LONG);
  });

  test("of a command is named in the same way", async () => {
    const host = await openHost(makeFolders());
    const caller = { session: "one" };
    const { details } = await host.haft.execute("exec", { command: "seq 1 6000" }, { caller });
    const { spillRef: path } = details as { spillRef: string };
    expect(path).toMatch(/^spill:/);
    expect((await host.haft.execute("read", { path, offset: 6000 }, { caller })).details).toMatchObject({
      content: "6000\n",
    });
  });

  test("is not hidden by a file that has the form of an address", async () => {
    const folders = makeFolders();
    writeFileSync(join(folders.workspace, "spill:x"), "a file");
    const host = await openHost(folders);
    expect(await host.haft.execute("read", { path: "./spill:x" })).toMatchObject({ details: { content: "a file" } });
    expect(await host.haft.execute("read", { path: "spill:x" })).toMatchObject({ error: { code: "path_not_found" } });
  });
});

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** Permissions do not stop root: the program then runs as another user. */
describe.skipIf(process.platform === "win32")("a workspace that may only be read", () => {
  async function makeReadable() {
    const folders = makeFolders();
    const program = await bundleProgram("test/state/use-host.ts", join(folders.root, "program"));
    // A bundle finds the launcher in a folder `native` beside it or above it.
    cpSync("native", join(folders.root, "native"), { recursive: true });
    mkdirSync(folders.stateFolder);
    if (isRoot) for (const folder of Object.values(folders)) chmodSync(folder, 0o777);
    const run = async (stateFolder: string) => {
      const child = spawn(process.execPath, [program, folders.workspace, stateFolder], {
        ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
        env: { PATH: process.env["PATH"], HOME: "/nonexistent" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [{ code }, output, errors] = await Promise.all([childEnd(child), text(child.stdout), text(child.stderr)]);
      expect({ code, errors }).toEqual({ code: 0, errors: "" });
      return JSON.parse(output) as unknown;
    };
    onTestFinished(() => chmodSync(folders.workspace, 0o755));
    return { ...folders, run };
  }

  test("is used like any other", async () => {
    const { workspace, stateFolder, run } = await makeReadable();
    chmodSync(workspace, 0o555);
    expect(await run(join(stateFolder, "new"))).toEqual({
      ...{ canWrite: false, read: "completed", spilled: true, write: "path_denied" },
      ...{ earlierEntries: 0, warnings: [] },
    });
    expect(readdirSync(workspace)).toEqual(["a.txt"]);
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("a\n");
  });

  test("keeps the folder of an earlier version, whose state is copied once", async () => {
    const { workspace, stateFolder, run } = await makeReadable();
    const old = join(workspace, ".haft");
    await run(old);
    rmSync(join(workspace, "b.txt"));
    chmodSync(workspace, 0o555);
    const first = (await run(join(stateFolder, "new"))) as { earlierEntries: number };
    expect(first).toMatchObject({ warnings: [expect.stringContaining(`${old} could not be renamed`)] });
    expect(first.earlierEntries).toBeGreaterThan(0);
    const second = (await run(join(stateFolder, "new"))) as { earlierEntries: number };
    expect(second).toMatchObject({ warnings: [] });
    expect(second.earlierEntries).toBeGreaterThan(first.earlierEntries);
    expect(readdirSync(workspace)).toEqual([".haft", "a.txt"]);
  });
});
