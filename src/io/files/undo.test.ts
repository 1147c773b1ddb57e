import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { ToolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import { createHaft } from "../../runtime.ts";
import { openWorkspace } from "../../workspace.ts";
import { createFiles } from "./files.ts";
import { createPathPolicy } from "./path-policy.ts";
import { createMemoryUndo } from "./undo-store.ts";
import { createUndo, type UndoEvent } from "./undo.ts";

/** A workspace with the real tools, without approvals, and their undo. */
function open(content: Record<string, string> = {}) {
  const folder = temporaryFolder("haft-undo-");
  const at = (path: string): string => join(folder, path);
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(join(at(path), ".."), { recursive: true });
    writeFileSync(at(path), text);
  }
  const store = createMemoryUndo();
  const workspace = openWorkspace(folder, { journal: store, requireReadBeforeEdit: false });
  const haft = createHaft({ workspace, approver: async () => ({ approved: true, by: "test", confirmUnshown: true }) });
  const events: UndoEvent[] = [];
  const undo = createUndo({ files: workspace.files, store, onUndo: (event) => void events.push(event) });
  const call = (id: string, name: string, input: unknown, session = "s"): Promise<ToolResult> =>
    haft.execute(name, input, { id, caller: { session } });
  return { folder, at, store, files: workspace.files, haft, undo, events, call };
}

/** Everything below a folder: kinds, bytes, permissions and link targets. */
function picture(folder: string, below = ""): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below))) {
    const path = join(below, name);
    const stat = lstatSync(join(folder, path));
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) seen[path] = `link ${readlinkSync(join(folder, path))}`;
    else if (stat.isDirectory()) Object.assign(seen, { [path]: `folder ${mode}` }, picture(folder, path));
    else seen[path] = `${mode} ${readFileSync(join(folder, path)).toString("hex")}`;
  }
  return seen;
}

async function failureOf(work: Promise<unknown>): Promise<ToolError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ToolError)) throw new Error(`expected a ToolError, got ${String(thrown)}`);
  return thrown;
}

describe("undo of one call", () => {
  it("restores what a write, an edit, a patch, a move and a deletion destroyed", async () => {
    const { folder, undo, call, at } = open({ "a.txt": "one\ntwo\n", "b.txt": "b\n", "dir/c.bin": "\u0000\u0001" });
    chmodSync(at("b.txt"), 0o763);
    chmodSync(at("dir"), 0o772);
    symlinkSync("../a.txt", at("dir/link"));
    const before = picture(folder);
    const patch = "*** Begin Patch\n*** Add File: new/d.txt\n+d\n*** Delete File: b.txt\n*** End Patch";
    const calls: [string, unknown][] = [
      ["write", { path: "a.txt", content: "other\n" }],
      ["write", { path: "deep/er/x.txt", content: "x" }],
      ["edit", { path: "a.txt", old_string: "one", new_string: "1" }],
      ["apply_patch", { patch }],
      ["move_file", { from: "a.txt", to: "b.txt", overwrite: true }],
      ["move_file", { from: "dir", to: "far/away" }],
      ["delete_file", { path: "dir", recursive: true }],
      ["delete_file", { path: "dir/link" }],
    ];
    for (const [index, [name, input]] of calls.entries()) {
      const result = await call(`c${index}`, name, input);
      expect([name, result.status, result.display]).toEqual([name, "completed", result.display]);
      expect(picture(folder)).not.toEqual(before);
      const outcome = await undo.undoCall(`c${index}`);
      expect(outcome.paths.length).toBeGreaterThan(0);
      expect(picture(folder)).toEqual(before);
    }
  });

  it("is refused with the difference if a file was changed later, and then changes nothing", async () => {
    const { folder, at, undo, call, events } = open({ "a.txt": "one\n", "b.txt": "b\n" });
    const update =
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch";
    await call("c1", "apply_patch", { patch: update });
    writeFileSync(at("a.txt"), "1\nmine\n");
    const before = picture(folder);
    const refused = await failureOf(undo.undoCall("c1"));
    expect(refused.code).toBe("stale");
    expect(refused.message).toContain("+mine");
    expect(refused.data).toMatchObject({ conflicts: [{ path: "a.txt", reason: "changed", laterCalls: [] }] });
    expect(picture(folder)).toEqual(before);
    expect(events).toEqual([]);
  });

  it("names the later call in conflict, and works once that is undone", async () => {
    const { at, undo, call } = open({ "a.txt": "one\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    await call("c2", "write", { path: "a.txt", content: "three\n" }, "other");
    const refused = await failureOf(undo.undoCall("c1"));
    expect(refused.data).toMatchObject({ conflicts: [{ laterCalls: ["c2"] }] });
    await undo.undoCall("c2");
    await undo.undoCall("c1");
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
  });

  it("can be forced by a person, and what that destroyed can be restored", async () => {
    const { at, undo, call, events } = open({ "a.txt": "one\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    writeFileSync(at("a.txt"), "mine\n");
    const { undoId } = await undo.undoCall("c1", { force: { by: "ann" } });
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
    expect(events).toMatchObject([
      { phase: "begun", by: "ann", forced: true, callIds: ["c1"] },
      { phase: "ended", state: "done" },
    ]);
    await undo.undoCall(undoId!);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("mine\n");
  });

  it("never removes a folder with new files, not even by force", async () => {
    const { at, undo, call } = open();
    await call("c1", "write", { path: "made/a.txt", content: "a" });
    writeFileSync(at("made/theirs.txt"), "theirs");
    const refused = await failureOf(undo.undoCall("c1", { force: { by: "ann" } }));
    expect(refused.data).toMatchObject({ conflicts: [{ path: "made", reason: "not_empty" }] });
    expect(existsSync(at("made/a.txt"))).toBe(true);
  });

  it("can be redone and undone again by undoing the undo", async () => {
    const { at, undo, call } = open({ "a.txt": "one\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    const first = await undo.undoCall("c1");
    expect((await failureOf(undo.undoCall("c1"))).code).toBe("no_change");
    const redo = await undo.undoCall(first.undoId!);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("two\n");
    await undo.undoCall(redo.undoId!);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
    expect((await failureOf(undo.undoCall("c1"))).code).toBe("no_change");
    expect((await undo.undoLast()).undoId).toBeNull();
  });

  it("includes nested calls, and asks for the session if ids repeat", async () => {
    const { at, undo, files } = open({ "a.txt": "one\n" });
    await files.narrow(undefined, { callId: "c1/1", session: "s" }).writeFileAtomic("a.txt", Buffer.from("two\n"));
    await files.narrow(undefined, { callId: "c1/2", session: "s" }).writeFileAtomic("b.txt", Buffer.from("b\n"));
    await files.narrow(undefined, { callId: "c1", session: "t" }).writeFileAtomic("c.txt", Buffer.from("c\n"));
    expect((await failureOf(undo.undoCall("c1"))).code).toBe("ambiguous");
    expect((await undo.undoCall("c1", { session: "s" })).paths.sort()).toEqual(["a.txt", "b.txt"]);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
    expect(existsSync(at("c.txt"))).toBe(true);
  });

  it("distinguishes callers that chose the same call id", async () => {
    const { at, haft, undo } = open({ "a.txt": "a\n", "b.txt": "b\n" });
    const write = (user: string, path: string) =>
      haft.execute("write", { path, content: "new\n" }, { id: "c1", caller: { session: "s", user } });
    await write("ada", "a.txt");
    await write("bob", "b.txt");
    const failure = await failureOf(undo.undoCall("c1", { session: "s" }));
    expect(failure).toMatchObject({ code: "ambiguous", data: { callers: [{ user: "bob" }, { user: "ada" }] } });
    const { undoId, paths } = await undo.undoCall("c1", { user: "ada" });
    expect(paths).toEqual(["a.txt"]);
    expect(readFileSync(at("b.txt"), "utf8")).toBe("new\n");
    expect((await undo.listChanges({ callId: "c1" })).map(({ user, undoneBy }) => [user, undoneBy])).toEqual([
      ["bob", undefined],
      ["ada", undoId],
    ]);
    expect((await undo.undoLast()).paths).toEqual(["b.txt"]);
    // The id of an undo is unique: redoing needs no owner.
    await undo.undoCall(undoId!);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("new\n");
    const whole = await undo.undoSession("s");
    expect(whole.paths).toEqual(["a.txt"]);
  });

  it("handles a call that died before its last change", async () => {
    const { folder, at, undo, files, store } = open({ "a.txt": "one\n", "b.txt": "b\n" });
    const before = picture(folder);
    await files.narrow(undefined, { callId: "c1" }).writeFileAtomic("a.txt", Buffer.from("two\n"));
    const old = readFileSync(at("b.txt"));
    await store.before({
      callId: "c1",
      kind: "delete",
      path: at("b.txt"),
      was: "file",
      old,
      next: { kind: "absent" },
    });
    expect((await undo.undoCall("c1")).paths).toEqual(["a.txt"]);
    expect(picture(folder)).toEqual(before);
  });

  it("reports an unknown call", async () => {
    expect(await failureOf(open().undo.undoCall("nobody"))).toMatchObject({ code: "no_match" });
  });

  it("respects the paths that the workspace allows now", async () => {
    const { folder, undo: _, call, store, at } = open({ "sub/a.txt": "one\n" });
    await call("c1", "write", { path: "sub/a.txt", content: "two\n" });
    const narrower = createFiles(createPathPolicy({ workspace: folder, readOnlyPaths: ["sub"] }), { journal: store });
    const refused = await failureOf(createUndo({ files: narrower, store }).undoCall("c1"));
    expect(refused.data).toMatchObject({ conflicts: [{ reason: "denied" }] });
    expect(readFileSync(at("sub/a.txt"), "utf8")).toBe("two\n");
  });

  it("does not follow a link that replaced a folder", async () => {
    const { at, undo, call } = open({ "sub/a.txt": "one\n", "other/a.txt": "two\n" });
    await call("c1", "write", { path: "sub/a.txt", content: "two\n" });
    renameSync(at("sub"), at("gone"));
    symlinkSync("other", at("sub"));
    const refused = await failureOf(undo.undoCall("c1"));
    expect(refused.data).toMatchObject({ conflicts: [{ path: "sub/a.txt", reason: "changed" }] });
    expect(readFileSync(at("other/a.txt"), "utf8")).toBe("two\n");
  });

  it("does not happen if it cannot be recorded", async () => {
    const { at, call, files, store } = open({ "a.txt": "one\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    const undo = createUndo({ files, store, onUndo: () => Promise.reject(new Error("audit is full")) });
    expect((await failureOf(undo.undoCall("c1"))).message).toContain("audit is full");
    expect(readFileSync(at("a.txt"), "utf8")).toBe("two\n");
    expect(store.undos()).toMatchObject([{ state: "taken_back" }]);
  });

  it("is rolled back completely if a step fails", async () => {
    const { folder, undo, call, files, store } = open({ "a.txt": "one\n", "b.txt": "b\n" });
    const patch =
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch";
    await call("c1", "apply_patch", { patch });
    const before = picture(folder);
    const failing = {
      ...store,
      before: (change: Parameters<typeof store.before>[0]) =>
        change.tool === "undo" && change.path.endsWith("a.txt") && change.next.kind === "file"
          ? Promise.reject(new Error("disk full"))
          : store.before(change),
    };
    const broken = createUndo({ files: createFiles(files.policy, { journal: failing }), store: failing });
    expect((await failureOf(broken.undoCall("c1"))).message).toContain("Nothing of this call was undone");
    expect(picture(folder)).toEqual(before);
    await undo.undoCall("c1");
    expect(picture(folder)).not.toEqual(before);
  });
});

describe("undo of more than one call", () => {
  it("undoes a session but no other changes, and is redone as a whole", async () => {
    const { folder, undo, call } = open({ "a.txt": "one\n", "b.txt": "b\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    await call("x1", "write", { path: "b.txt", content: "theirs\n" }, "other");
    await call("c2", "move_file", { from: "a.txt", to: "sub/z.txt" });
    await call("c3", "edit", { path: "sub/z.txt", old_string: "two", new_string: "three" });
    const after = picture(folder);
    const { undoId, callIds } = await undo.undoSession("s", { by: "ann" });
    expect(callIds).toEqual(["c3", "c2", "c1"]);
    expect(Object.keys(picture(folder)).sort()).toEqual(["a.txt", "b.txt"]);
    expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("theirs\n");
    expect((await undo.undoSession("s")).undoId).toBeNull();
    await undo.undoCall(undoId!);
    expect(picture(folder)).toEqual(after);
    expect((await undo.undoSession("s")).callIds).toEqual(["c3", "c2", "c1"]);
  });

  it("refuses a whole session and names every file in conflict", async () => {
    const { folder, at, undo, call } = open({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" });
    for (const name of ["a", "b", "c"]) await call(`c-${name}`, "write", { path: `${name}.txt`, content: "new\n" });
    writeFileSync(at("a.txt"), "mine\n");
    writeFileSync(at("c.txt"), "mine\n");
    const before = picture(folder);
    const { data } = await failureOf(undo.undoSession("s"));
    expect(data).toMatchObject({ conflicts: [{ path: "c.txt" }, { path: "a.txt" }] });
    expect(picture(folder)).toEqual(before);
  });

  it("undoes the last calls, one after the other", async () => {
    const { at, undo, call } = open();
    for (const [index, name] of ["a", "b", "c"].entries()) {
      await call(`c${index}`, "write", { path: `${name}.txt`, content: "new\n" });
    }
    expect((await undo.undoLast()).callIds).toEqual(["c2"]);
    expect((await undo.undoLast(2)).callIds).toEqual(["c1", "c0"]);
    expect(readdirSync(at("."))).toEqual([]);
  });

  it("undoes interleaved calls together", async () => {
    const { at, undo, files } = open({ "a.txt": "0" });
    const write = (callId: string, text: string) =>
      files.narrow(undefined, { callId, session: "s" }).writeFileAtomic("a.txt", Buffer.from(text));
    await write("c1", "1");
    await write("c2", "2");
    await write("c1", "3");
    expect((await undo.undoSession("s")).callIds).toEqual(["c1", "c2"]);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("0");
  });
});

describe("the list and the differences", () => {
  it("shows changes by session, call, path and time, and which of them were undone", async () => {
    const { undo, call } = open({ "a.txt": "one\n", "sub/b.txt": "b\n" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    await call("c2", "delete_file", { path: "sub", recursive: true }, "other");
    const { undoId } = await undo.undoCall("c1");
    const all = await undo.listChanges();
    expect(all.map(({ callId, tool, kind, undoneBy, isUndo }) => [callId, tool, kind, undoneBy, isUndo])).toEqual([
      [undoId, "undo", "write", undefined, true],
      ["c2", "delete_file", "delete", undefined, false],
      ["c2", "delete_file", "delete", undefined, false],
      ["c1", "write", "write", undoId, false],
    ]);
    expect(await undo.listChanges({ session: "other" })).toHaveLength(2);
    expect(await undo.listChanges({ path: "sub" })).toHaveLength(2);
    expect(await undo.listChanges({ path: "a.txt", limit: 1 })).toMatchObject([{ callId: undoId }]);
    expect(await undo.listChanges({ since: Date.now() + 60_000 })).toEqual([]);
  });

  it("shows what a call did and what its undo would do, and marks binary files", async () => {
    const { undo, call, at } = open({ "a.txt": "one\n", "b.bin": "\u0000\u0001" });
    await call("c1", "write", { path: "a.txt", content: "two\n" });
    await call("c2", "delete_file", { path: "b.bin" });
    await call("c3", "move_file", { from: "a.txt", to: "z.txt" });
    expect((await undo.diffOf({ callId: "c1" })).did).toMatchObject([
      { path: "a.txt", what: "changed", text: expect.stringContaining("-one\n+two\n"), added: 1, removed: 1 },
    ]);
    expect(await undo.diffOf({ callId: "c2" })).toMatchObject({
      did: [{ path: "b.bin", what: "deleted (binary)", binary: true, text: "" }],
      undo: [{ path: "b.bin", what: "created (binary)", binary: true }],
    });
    expect((await undo.diffOf({ callId: "c3" })).undo).toMatchObject([{ path: "z.txt", to: "a.txt" }]);
    await undo.undoCall("c3");
    expect((await undo.diffOf({ callId: "c1" })).undo[0]?.text).toContain("-two\n+one\n");
    writeFileSync(at("a.txt"), "mine\n");
    // What the call did is still known after the file has changed.
    const { did, conflicts } = await undo.diffOf({ callId: "c1" });
    expect(did[0]?.text).toContain("+two\n");
    expect(conflicts).toMatchObject([{ reason: "changed" }]);
  });
});

describe("any sequence of calls of the real tools", () => {
  const name = fc.constantFrom("a.txt", "b.txt", "d", "d/e.txt", "d/f", "d/f/g.txt", "l");
  const text = fc.constantFrom("", "x", "x\ny\n", "y\r\n", "\u{1F600}z");
  const action = fc.oneof(
    fc.record({ tool: fc.constant("write"), path: name, content: text }),
    fc.record({ tool: fc.constant("edit"), path: name, old_string: fc.constantFrom("x", "y"), new_string: text }),
    fc.record({ tool: fc.constant("move_file"), from: name, to: name, overwrite: fc.boolean() }),
    fc.record({ tool: fc.constant("delete_file"), path: name, recursive: fc.boolean() }),
    fc.record({ tool: fc.constant("make"), path: name }),
    fc.record({ tool: fc.constant("patch"), add: name, remove: name, update: name }),
  );

  const perform = async ({ call, files }: ReturnType<typeof open>, id: string, step: Record<string, unknown>) => {
    const { tool, ...input } = step;
    if (tool === "make") {
      return files
        .narrow(undefined, { callId: id, session: "s" })
        .makeDirectories(String(step["path"]))
        .catch(() => {});
    }
    if (tool !== "patch") return call(id, String(tool), input);
    const update = `*** Update File: ${String(step["update"])}\n@@\n-x\n+changed\n`;
    const patch = `*** Begin Patch\n*** Add File: ${String(step["add"])}\n+new\n*** Delete File: ${String(step["remove"])}\n${update}*** End Patch`;
    return call(id, "apply_patch", { patch });
  };

  const start = () => {
    const opened = open({ "a.txt": "x\ny\n", "d/e.txt": "x\n", "d/f/g.txt": "y" });
    chmodSync(opened.at("d/e.txt"), 0o640);
    chmodSync(opened.at("d/f"), 0o750);
    symlinkSync("a.txt", opened.at("l"));
    return opened;
  };
  const runs = process.env["HAFT_FULL"] === "1" ? 400 : 30;

  it("is undone call by call, each to exactly what was there before it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (steps) => {
        const opened = start();
        const pictures: Record<string, string>[] = [];
        const made: string[] = [];
        for (const [index, step] of steps.entries()) {
          pictures.push(picture(opened.folder));
          await perform(opened, `c${index}`, step);
          if ((await opened.store.list({ callId: `c${index}` })).length > 0) made.push(`c${index}`);
        }
        for (const id of made.toReversed()) {
          await opened.undo.undoCall(id);
          expect(picture(opened.folder)).toEqual(pictures[Number(id.slice(1))]);
        }
      }),
      { numRuns: runs },
    );
  }, 300_000);

  it("is undone as a session to exactly the first state, and redone to exactly the last", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (steps) => {
        const opened = start();
        const first = picture(opened.folder);
        for (const [index, step] of steps.entries()) await perform(opened, `c${index}`, step);
        const last = picture(opened.folder);
        const { undoId } = await opened.undo.undoSession("s");
        expect(picture(opened.folder)).toEqual(first);
        if (undoId === null) return;
        await opened.undo.undoCall(undoId);
        expect(picture(opened.folder)).toEqual(last);
      }),
      { numRuns: runs },
    );
  }, 300_000);
});
