import { describe, expect, test } from "vitest";
import type { ServerQuestion, ServerQuestionStore } from "./elicitation.ts";

/** The behaviour of every ServerQuestionStore. */
export function serverQuestionStoreSuite(
  name: string,
  open: () => ServerQuestionStore | Promise<ServerQuestionStore>,
): void {
  const question = (id: string, askedAt = 1): ServerQuestion => ({
    id,
    server: "files",
    mode: "form",
    message: "Which\u0000one?",
    schema: { type: "object" },
    askedAt,
    expiresAt: 1000,
    state: "open",
  });

  describe(`${name} as a question store`, () => {
    test("returns added questions, and lists the newest by state, oldest first", async () => {
      const store = await open();
      for (const [id, at] of [
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ] as const)
        await store.add(question(id, at), 10);
      expect(await store.get("a")).toEqual(question("a"));
      expect(await store.get("nobody")).toBeUndefined();
      expect((await store.list(undefined, 2)).map(({ id }) => id)).toEqual(["b", "c"]);
      await store.change("b", "open", { state: "declined" });
      expect((await store.list("open", 10)).map(({ id }) => id)).toEqual(["a", "c"]);
      expect((await store.list("declined", 10)).map(({ id }) => id)).toEqual(["b"]);
    });

    test("limits the number of open questions", async () => {
      const store = await open();
      expect(await store.add(question("a"), 1)).toBe(true);
      expect(await store.add(question("b"), 1)).toBe(false);
      await store.change("a", "open", { state: "accepted" });
      expect(await store.add(question("b"), 1)).toBe(true);
    });

    test("changes a question only from the expected state, once among concurrent changes", async () => {
      const store = await open();
      await store.add(question("a"), 10);
      const answers = await Promise.all(
        (["accepted", "declined", "cancelled"] as const).map(async (state) => store.change("a", "open", { state })),
      );
      expect(answers.filter(Boolean)).toHaveLength(1);
    });

    test("removes keys with undefined, and old questions", async () => {
      const store = await open();
      await store.add(question("a", 1), 10);
      await store.add(question("b", 5), 10);
      await store.change("a", "open", { state: "accepted", content: { secretWish: "tea" } });
      expect((await store.get("a"))?.content).toEqual({ secretWish: "tea" });
      await store.change("a", "accepted", { state: "accepted", content: undefined });
      expect(await store.get("a")).not.toHaveProperty("content");
      await store.prune(5);
      expect((await store.list(undefined, 10)).map(({ id }) => id)).toEqual(["b"]);
    });
  });
}
