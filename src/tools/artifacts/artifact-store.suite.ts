import { describe, expect, test } from "vitest";
import type { Artifact, ArtifactStore, ArtifactVersion } from "./artifact-store.ts";

const artifact = (id: string, more: Partial<Artifact> = {}): Artifact => ({
  session: "s",
  id,
  title: `About ${id}`,
  contentType: "text/markdown",
  origin: "made",
  version: 1,
  createdAt: 1_800_000_000_000,
  updatedAt: 1_800_000_000_000,
  ...more,
});

const version = (number: number, content: string, more: Partial<ArtifactVersion> = {}): ArtifactVersion => ({
  version: number,
  type: number === 1 ? "create" : "update",
  author: { agent: "lead", user: "ann" },
  callId: `c${number}`,
  at: 1_800_000_000_000 + number,
  characters: content.length,
  content,
  ...more,
});

/** The behaviour of every artifact store. `open` returns an empty one. */
export function describeArtifactStore(name: string, open: () => Promise<ArtifactStore> | ArtifactStore): void {
  describe(`artifacts in ${name}`, () => {
    test("are created once per session and id", async () => {
      const store = await open();
      expect(await store.create(artifact("doc"), version(1, "one"))).toBe(true);
      expect(await store.create(artifact("doc"), version(1, "two"))).toBe(false);
      expect(await store.create(artifact("doc", { session: "other" }), version(1, "theirs"))).toBe(true);
      expect(await store.find({ session: "s", id: "doc" })).toEqual(artifact("doc"));
      expect(await store.find({ session: "s", id: "none" })).toBeUndefined();
      expect(await store.read({ session: "s", id: "doc" }, 1)).toEqual(version(1, "one"));
      expect(await store.read({ session: "other", id: "doc" }, 1)).toEqual(version(1, "theirs"));
    });

    test("store every version and list them newest first", async () => {
      const store = await open();
      const key = { session: "s", id: "doc" };
      await store.create(artifact("doc"), version(1, "one"));
      const second = version(2, "two", { type: "update_fuzzy", similarity: 0.93, author: {} });
      expect(await store.append(key, second)).toBe(true);
      expect(await store.append(key, version(3, "three", { type: "rewrite", callId: undefined }))).toBe(true);
      expect(await store.find(key)).toMatchObject({ version: 3, updatedAt: 1_800_000_000_003 });
      expect(await store.read(key, 2)).toEqual(second);
      expect(await store.read(key, 1)).toMatchObject({ content: "one" });
      expect(await store.read(key, 4)).toBeUndefined();
      const versions = await store.versions(key);
      expect(versions.map(({ version: number, type }) => [number, type])).toEqual([
        [3, "rewrite"],
        [2, "update_fuzzy"],
        [1, "create"],
      ]);
      expect(versions[1]).toMatchObject({ similarity: 0.93 });
      expect(versions[0]).not.toHaveProperty("content");
      expect(await store.versions({ session: "s", id: "none" })).toEqual([]);
    });

    test("accept a version only after the previous one", async () => {
      const store = await open();
      const key = { session: "s", id: "doc" };
      await store.create(artifact("doc"), version(1, "one"));
      expect(await store.append(key, version(3, "three"))).toBe(false);
      expect(await store.append({ session: "s", id: "none" }, version(2, "two"))).toBe(false);
      const writers = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => store.append(key, version(2, `writer ${index}`))),
      );
      expect(writers.filter(Boolean)).toHaveLength(1);
      expect(await store.read(key, 2)).toMatchObject({ content: `writer ${writers.indexOf(true)}` });
    });

    test("are listed by session, the most recently changed first, page by page", async () => {
      const store = await open();
      for (const [at, id] of ["a", "b", "c"].entries()) {
        await store.create(artifact(id, { updatedAt: at, createdAt: at }), version(1, id, { at }));
      }
      await store.create(artifact("z", { session: "", updatedAt: 9 }), version(1, "z"));
      await store.append({ session: "s", id: "a" }, version(2, "a2", { at: 5 }));
      const ids = async (query: Parameters<ArtifactStore["list"]>[0]) => (await store.list(query)).map(({ id }) => id);
      expect(await ids({ limit: 10 })).toEqual(["z", "a", "c", "b"]);
      expect(await ids({ session: "s", limit: 10 })).toEqual(["a", "c", "b"]);
      expect(await ids({ session: "", limit: 10 })).toEqual(["z"]);
      expect(await ids({ session: "s", limit: 1, offset: 1 })).toEqual(["c"]);
    });

    test("store every text unchanged: NUL, half a surrogate pair, line ends", async () => {
      const store = await open();
      const odd = "a\0b\ud800c\r\n\u2028末";
      await store.create(artifact("odd", { session: "se\0ssion", title: odd }), version(1, odd));
      const key = { session: "se\0ssion", id: "odd" };
      expect((await store.read(key, 1))?.content).toBe(odd);
      expect((await store.find(key))?.title).toBe(odd);
      expect((await store.list({ limit: 5 }))[0]).toMatchObject({ session: "se\0ssion" });
    });

    test("of origin output are pruned when they are old; others stay", async () => {
      const store = await open();
      await store.create(artifact("out", { origin: "output", updatedAt: 10 }), version(1, "long"));
      await store.create(artifact("new", { origin: "output", updatedAt: 30 }), version(1, "long"));
      await store.create(artifact("made", { updatedAt: 10 }), version(1, "mine"));
      await store.pruneOutputs(20);
      expect((await store.list({ limit: 5 })).map(({ id }) => id)).toEqual(["new", "made"]);
      expect(await store.read({ session: "s", id: "out" }, 1)).toBeUndefined();
    });
  });
}
