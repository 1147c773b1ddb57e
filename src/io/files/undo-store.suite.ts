import { describe, expect, it } from "vitest";
import { type FileChange, fileOf, hashOf, type UndoRun, type UndoStore } from "./undo-store.ts";

export interface UndoStoreFactory {
  /** An empty store with this limit for content and a clock that the test controls. */
  (options: { maxBytes: number; clock: () => number }): Promise<UndoStore>;
}

const bytes = (text: string): Buffer => Buffer.from(text);

/** A write of `to` over `from`. */
function write(path: string, from: string | null, to: string, more: Partial<FileChange> = {}): FileChange {
  const was =
    from === null ? ({ was: "absent", old: null } as const) : ({ was: "file", old: bytes(from), mode: 0o644 } as const);
  return { kind: "write", path, ...was, next: fileOf(bytes(to)), callId: "c1", session: "s", tool: "write", ...more };
}

const owner = { host: "here", pid: 1, instance: "one" };
const run = (id: string, callIds: string[]): Omit<UndoRun, "state"> => ({
  id,
  callIds,
  session: "s",
  at: 5,
  forced: false,
  owner,
});

/** The behaviour of every undo store. */
export function undoStoreSuite(name: string, open: UndoStoreFactory): void {
  describe(`the undo store ${name}`, () => {
    const start = async (maxBytes = 1_000_000) => {
      const time = { now: 1_000 };
      return { time, store: await open({ maxBytes, clock: () => time.now }) };
    };

    it("keeps open groups, and forgets the changes of one that was rolled back", async () => {
      const { store } = await start();
      const maker = { callId: "c1", session: "s", tool: "apply_patch" };
      await store.beginGroup({ id: "g1", at: 5, owner, ...maker });
      await store.beginGroup({ id: "g2", at: 6, owner });
      await store.before(write("/w/a", "one", "two", { group: "g1" }));
      await store.before(write("/w/b", "one", "two", { group: "g2" }));
      await store.before(write("/w/c", "one", "two"));
      expect(await store.groups()).toMatchObject([
        { id: "g1", at: 5, owner, ...maker },
        { id: "g2", at: 6, owner },
      ]);
      expect(await store.list({ group: "g1" })).toMatchObject([{ path: "/w/a", abandoned: false }]);
      const other = { ...owner, instance: "two" };
      expect(await store.adoptGroup("g1", owner, other)).toBe(true);
      expect(await store.adoptGroup("g1", owner, other)).toBe(false);
      await store.endGroup("g1", { state: "rolled_back" });
      await store.endGroup("g2", { state: "done" });
      expect(await store.groups()).toEqual([]);
      const states = (await store.list()).map(({ path, abandoned }) => [path, abandoned]);
      expect(states).toEqual([
        ["/w/c", false],
        ["/w/b", false],
        ["/w/a", true],
      ]);
    });

    it("names the folders of changes that were made since they were cleaned", async () => {
      const { store } = await start();
      expect(await store.uncleanFolders()).toEqual({ folders: [], upTo: 0 });
      await store.before(write("/w/a", null, "one"));
      await store.before({ ...write("/w/deep/b", null, "one"), to: "/w/other/b" });
      const { folders, upTo } = await store.uncleanFolders();
      expect(folders.toSorted()).toEqual(["/w", "/w/deep", "/w/other"]);
      await store.cleaned(upTo);
      expect((await store.uncleanFolders()).folders).toEqual([]);
      await store.before(write("/w/a", "one", "two"));
      expect((await store.uncleanFolders()).folders).toEqual(["/w"]);
    });

    it("returns changes as they were recorded, newest first, with increasing order numbers", async () => {
      const { store, time } = await start();
      await store.before(write("/w/a", null, "one"));
      time.now = 2_000;
      await store.before(write("/w/a", "one", "two"));
      await store.before({
        kind: "move",
        path: "/w/a",
        to: "/w/b",
        was: "symlink",
        old: null,
        linkTarget: "x",
        next: { kind: "file", hash: hashOf(bytes("two")), size: 3 },
      });
      const listed = await store.list();
      expect(listed.map(({ order }) => order)).toEqual(listed.map(({ order }) => order).toSorted((a, b) => b - a));
      expect(new Set(listed.map(({ id }) => id)).size).toBe(3);
      expect(listed).toMatchObject([
        {
          kind: "move",
          path: "/w/a",
          to: "/w/b",
          old: { kind: "symlink", target: "x" },
          next: { kind: "file", size: 3 },
        },
        {
          at: 2_000,
          callId: "c1",
          session: "s",
          tool: "write",
          old: { kind: "file", hash: hashOf(bytes("one")), size: 3, mode: 0o644 },
          next: { kind: "file", hash: hashOf(bytes("two")) },
          abandoned: false,
        },
        { at: 1_000, old: { kind: "absent" } },
      ]);
      expect(listed[0]?.callId).toBeUndefined();
      expect(JSON.stringify(listed)).not.toContain("bytes");
    });

    it("stores contents byte for byte, short, long and empty, and returns undefined for unknown hashes", async () => {
      const { store } = await start();
      const long = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919) % 256));
      for (const content of [bytes(""), bytes("a\u0000b\r\n"), Buffer.alloc(100_000, 65), long]) {
        await store.before({ kind: "write", path: "/w/a", was: "file", old: content, next: fileOf(bytes("x")) });
        expect((await store.content(hashOf(content)))?.equals(content)).toBe(true);
      }
      expect(await store.content(hashOf(bytes("never")))).toBeUndefined();
    });

    it("finds changes by session, by call with nested calls, by path and by time, up to the limit", async () => {
      const { store, time } = await start();
      for (const [index, [callId, session, path]] of [
        ["c1", "s", "/w/a"],
        ["c1/1", "s", "/w/sub/b"],
        ["c10", "t", "/w/sub"],
        ["c%", "t", "/w/subway"],
      ].entries()) {
        time.now = 1_000 * (index + 1);
        await store.before(write(path!, null, "x", { callId, session }));
      }
      const found = async (filter: Parameters<UndoStore["list"]>[0]) =>
        (await store.list(filter)).map(({ callId }) => callId);
      expect(await found({ session: "s" })).toEqual(["c1/1", "c1"]);
      expect(await found({ callId: "c1" })).toEqual(["c1/1", "c1"]);
      expect(await found({ callId: "c1/1" })).toEqual(["c1/1"]);
      expect(await found({ callId: "c%" })).toEqual(["c%"]);
      expect(await found({ path: "/w/sub" })).toEqual(["c10", "c1/1"]);
      expect(await found({ since: 3_000 })).toEqual(["c%", "c10"]);
      expect(await found({ limit: 1 })).toEqual(["c%"]);
      expect(await found({ session: "t", callId: "c1" })).toEqual([]);
      expect(await found({ user: "nobody" })).toEqual([]);
      expect(await found({ agent: "nobody" })).toEqual([]);
    });

    it("marks a change that did not happen", async () => {
      const { store } = await start();
      const id = await store.before(write("/w/a", null, "one"));
      await store.before(write("/w/b", null, "one"));
      await store.abandoned(id);
      expect((await store.list()).map(({ abandoned }) => abandoned)).toEqual([false, true]);
    });

    it("allows one undo at a time and lists how each ended, in order", async () => {
      const { store } = await start();
      expect(await store.beginUndo(run("u1", ["c1"]))).toBe(true);
      expect(await store.beginUndo(run("u2", ["c2"]))).toBe(false);
      expect(await store.undos()).toMatchObject([{ id: "u1", callIds: ["c1"], state: "running", owner, at: 5 }]);
      await store.endUndo("u1", "done");
      expect(await store.beginUndo(run("a2", ["c2", "c3"]))).toBe(true);
      await store.endUndo("a2", "stuck");
      expect((await store.undos()).map(({ id, state }) => [id, state])).toEqual([
        ["u1", "done"],
        ["a2", "stuck"],
      ]);
    });

    it("lets only one process adopt an unfinished undo, and none that has ended", async () => {
      const { store } = await start();
      await store.beginUndo(run("u1", ["c1"]));
      const [second, third] = [
        { ...owner, instance: "two" },
        { ...owner, instance: "three" },
      ];
      expect(await store.adoptUndo("u1", owner, second)).toBe(true);
      expect(await store.adoptUndo("u1", owner, third)).toBe(false);
      await store.endUndo("u1", "done");
      expect(await store.adoptUndo("u1", second, third)).toBe(false);
    });

    it("discards the oldest calls as a whole above its limit, reports it, and keeps shared contents", async () => {
      const noise = (seed: number): string =>
        Array.from({ length: 1_000 }, (_, index) => ((index * seed * 7919 + seed) % 65_521).toString(36)).join("");
      const { store, time } = await start(30_000);
      expect(await store.discardedChanges()).toBeUndefined();
      for (let index = 0; index < 20; index += 1) {
        time.now = 1_000 + index;
        const next = noise(index + 1);
        await store.before(write("/w/a", noise(index), next, { callId: `c${index}/1` }));
        await store.before(write("/w/b", "shared", next, { callId: `c${index}/2` }));
      }
      const left = await store.list();
      const lost = await store.discardedChanges();
      expect(left.length).toBeLessThan(40);
      expect(left.length).toBeGreaterThan(0);
      expect(lost?.changes).toBe(40 - left.length);
      expect(left.every(({ at }) => at > (lost?.newest ?? 0))).toBe(true);
      const halves = new Map<string, number>();
      for (const { callId } of left) halves.set(callId!.split("/")[0]!, (halves.get(callId!.split("/")[0]!) ?? 0) + 1);
      expect(new Set(halves.values())).toEqual(new Set([2]));
      const needed = left.flatMap(({ old, next }) => [old, next]).filter((state) => state.kind === "file");
      for (const { hash } of needed) expect(await store.content(hash!)).toBeDefined();
      expect(await store.content(hashOf(bytes(noise(0))))).toBeUndefined();
    });

    it("keeps the last call even if it exceeds the limit", async () => {
      const { store } = await start(10);
      await store.before(write("/w/a", "one", "two"));
      expect(await store.list()).toHaveLength(1);
      expect(await store.content(hashOf(bytes("one")))).toBeDefined();
    });
  });
}
