import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import {
  findToken,
  issueToken,
  MemoryTokenStore,
  openTokensOnUse,
  openTokenStore,
  parentOf,
  type TokenStore,
} from "./tokens.ts";
import { describeTokenStore } from "./tokens.suite.ts";

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function openDatabase(file = join(temporaryFolder("haft-tokens-"), "haft.db")) {
  const database = await openSqlite(file);
  ends.push(() => database.close());
  return { database, file };
}

async function openStore(place?: string): Promise<{ store: TokenStore; file: string }> {
  const { database, file } = await openDatabase(place);
  return { store: await openTokenStore(database, 0), file };
}

describeTokenStore("in memory", () => new MemoryTokenStore());
describeTokenStore("that opens its table on use", async () =>
  openTokensOnUse((await openDatabase()).database, createFakeClock()),
);

test("a store that finds another token than the presented one lets nobody in", async () => {
  const { stored } = await issueToken(new MemoryTokenStore(), createFakeClock(), { name: "a", scopes: ["admin"] });
  for (const found of [stored, { ...stored, hash: stored.hash.slice(1) }]) {
    const store = Object.assign(new MemoryTokenStore(), { find: () => found });
    expect(await findToken(store, createFakeClock(), "another token", "token")).toBeUndefined();
  }
});

test("the id of a session names the token that it was made with, and other ids name none", async () => {
  const store = new MemoryTokenStore();
  const { stored } = await issueToken(store, createFakeClock(), { name: "a", scopes: ["read"] });
  const session = { name: "a", scopes: ["read"], kind: "session", parent: stored.id } as const;
  expect(parentOf(stored.id)).toBeUndefined();
  expect(parentOf((await issueToken(store, createFakeClock(), session)).stored.id)).toBe(stored.id);
});

test("an id is no option on a command line", async () => {
  const clock = createFakeClock();
  const store = new MemoryTokenStore();
  for (let count = 0; count < 1000; count++) {
    const given = count % 2 === 0 ? undefined : `${count}`.padStart(43, "x");
    const { stored } = await issueToken(store, clock, { name: "ci", scopes: ["read"], token: given });
    expect(stored.id).not.toMatch(/^-/);
  }
});

test("a new token removes the expired ones from the store", async () => {
  const { store } = await openStore();
  const clock = createFakeClock();
  await issueToken(store, clock, { name: "expires", scopes: [], expiresInMs: 10 });
  await issueToken(store, clock, { name: "stays", scopes: [], expiresInMs: 1000 });
  await clock.advance(11);
  await issueToken(store, clock, { name: "new", scopes: [] });
  expect((await store.list()).map(({ name }) => name).sort()).toEqual(["new", "stays"]);
});

test("a token made by one server is known to another on the same store, until it is revoked", async () => {
  const { store, file } = await openStore();
  const { store: other } = await openStore(file);
  const { stored } = await issueToken(store, createFakeClock(), { name: "a", scopes: ["read"] });
  expect(await other.find(stored.hash)).toEqual(stored);
  expect(await other.remove(stored.id)).toBe(true);
  expect(await store.find(stored.hash)).toBeUndefined();
});

test("a token that could be guessed, and a scope that does not exist, are refused", async () => {
  const store = new MemoryTokenStore();
  const issue = (token: string) => issueToken(store, createFakeClock(), { name: "a", scopes: [], token });
  await expect(issue("s".repeat(21))).rejects.toThrow(/at least 22/);
  expect((await issue("s".repeat(22))).stored.id).toHaveLength(12);
  await expect(issueToken(store, createFakeClock(), { name: "a", scopes: ["root" as never] })).rejects.toThrow(
    /no scope "root"/,
  );
});

test("a token that is given has the same id in every process, and a random one has its own", async () => {
  const issue = async (token?: string): Promise<string> => {
    const { stored } = await issueToken(new MemoryTokenStore(), createFakeClock(), { name: "a", scopes: [], token });
    return stored.id;
  };
  const given = "given-token-0123456789abcdef";
  expect(await issue(given)).toBe(await issue(given));
  expect(await issue()).not.toBe(await issue());
  expect(given).not.toContain(await issue(given));
});
