import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { issueToken, MemoryTokenStore, openTokenStore, type TokenStore } from "./tokens.ts";
import { describeTokenStore } from "./tokens.suite.ts";

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function openStore(file?: string): Promise<{ store: TokenStore; file: string }> {
  const folder = temporaryFolder("haft-tokens-");
  const place = file ?? join(folder, "haft.db");
  const database = await openSqlite(place);
  ends.push(() => database.close());
  return { store: await openTokenStore(database, 0), file: place };
}

describeTokenStore("in memory", () => new MemoryTokenStore());

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
  await expect(issueToken(store, createFakeClock(), { name: "a", scopes: [], token: "secret" })).rejects.toThrow(
    /at least 22/,
  );
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
