import { describe, expect, test } from "vitest";
import { createFakeClock } from "../testing/fake-clock.ts";
import { findToken, issueToken, type TokenStore } from "./tokens.ts";

/** What every token store promises. */
export function describeTokenStore(name: string, make: () => Promise<TokenStore> | TokenStore): void {
  describe(`the token store ${name}`, () => {
    test("finds a token again by what was given away, and keeps only its hash", async () => {
      const store = await make();
      const clock = createFakeClock();
      const { token, stored } = await issueToken(store, clock, { name: "ci é\n", scopes: ["call", "read"] });
      expect(await findToken(store, clock, token, "token")).toEqual(stored);
      expect(stored).toMatchObject({ name: "ci é\n", scopes: ["read", "call"], kind: "token" });
      expect(JSON.stringify(await store.list())).not.toContain(token);
      expect(token.length).toBeGreaterThanOrEqual(43);
    });

    test("finds nothing for a wrong token, a hash, another kind, or one that expired", async () => {
      const store = await make();
      const clock = createFakeClock();
      const { token, stored } = await issueToken(store, clock, { name: "a", scopes: ["read"], expiresInMs: 1000 });
      for (const wrong of ["", token.slice(1), `${token}x`, stored.hash, stored.id]) {
        expect(await findToken(store, clock, wrong, "token")).toBeUndefined();
      }
      expect(await findToken(store, clock, token, "session")).toBeUndefined();
      await clock.advance(999);
      expect(await findToken(store, clock, token, "token")).toBeDefined();
      await clock.advance(1);
      expect(await findToken(store, clock, token, "token")).toBeUndefined();
    });

    test("tells exactly one of several who remove a token that it was there", async () => {
      const store = await make();
      const { stored } = await issueToken(store, createFakeClock(), { name: "a", scopes: ["read"] });
      const reported = await Promise.all([store.remove(stored.id), store.remove(stored.id), store.remove(stored.id)]);
      expect(reported.filter(Boolean)).toHaveLength(1);
      expect(await store.list()).toEqual([]);
      expect(await store.remove(stored.id)).toBe(false);
    });

    test("removes the sessions of a token with it, and no others", async () => {
      const store = await make();
      const clock = createFakeClock();
      const { stored } = await issueToken(store, clock, { name: "a", scopes: ["read"] });
      const session = { name: "a", scopes: ["read"], kind: "session" } as const;
      const own = await issueToken(store, clock, { ...session, parent: stored.id });
      const other = await issueToken(store, clock, { ...session, parent: `${stored.id}x` });
      expect(await store.remove(stored.id)).toBe(true);
      expect(await findToken(store, clock, own.token, "session")).toBeUndefined();
      expect(await findToken(store, clock, other.token, "session")).toBeDefined();
    });

    test("lists the oldest first, whichever was added first", async () => {
      const store = await make();
      const token = { scopes: [], kind: "token" } as const;
      for (const createdAt of [20, 10, 30]) {
        await store.add({ ...token, id: `t${createdAt}`, name: "a", hash: `h${createdAt}`, createdAt });
      }
      expect((await store.list()).map(({ id }) => id)).toEqual(["t10", "t20", "t30"]);
    });
  });
}
