import { expect, test } from "vitest";
import { openStore } from "./store.ts";
import { placeOf } from "./database.ts";
import { engineOf } from "./store-engines.ts";

test("the scheme of the address decides the engine", () => {
  for (const url of ["postgres://haft@db/haft", "PostgreSQL://haft@/haft?host=/run/postgresql"]) {
    expect(engineOf({ url }).engine.name).toBe("postgres");
  }
});

test.each([
  ["mysql://haft:hush@db/haft", /begins with "mysql:".*postgres:\/\//s],
  ["haft:hush@db", /begins with "haft:"/],
  ["/run/hush", /not a valid URL/],
])("an address of no engine is refused without its password: %s", async (url, message) => {
  const error = await openStore({ url }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "invalid_input", message: expect.stringMatching(message) as string });
  expect(String(error)).not.toContain("hush");
});

test("the place of a store has neither user nor password", () => {
  expect(placeOf("postgres://haft:hush@db:5432/haft")).toBe("db:5432/haft");
  expect(placeOf("postgres://haft:hush@[half/x")).toBe("the given URL");
});

test("an engine backs a store up by itself, or names the program that does", () => {
  expect(engineOf({ stateFolder: "/s" })).toMatchObject({ place: "/s", engine: { name: "sqlite" } });
  expect(engineOf({ stateFolder: "/s" }).engine.backUp).toBeTypeOf("function");
  expect(engineOf({ url: "postgres://db/haft" }).engine).toMatchObject({ backUp: "pg_dump", restore: "pg_restore" });
});

test("a server that cannot be reached is a problem of its store, told without the password", async () => {
  const url = "postgres://haft:hush@127.0.0.1:1/haft";
  const report = await engineOf({ url }).engine.check(url);
  expect(report).toMatchObject({ place: "127.0.0.1:1/haft", problems: [/cannot be reached/], tables: [] });
  expect(JSON.stringify(report)).not.toContain("hush");
});
