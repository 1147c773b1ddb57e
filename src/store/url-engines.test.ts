import { expect, test } from "vitest";
import { openStore } from "./store.ts";
import { placeOf, urlEngineOf } from "./url-engines.ts";

test("the scheme of the address decides the engine", () => {
  for (const url of ["postgres://haft@db/haft", "PostgreSQL://haft@/haft?host=/run/postgresql"]) {
    expect(urlEngineOf(url).name).toBe("postgres");
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
  expect(placeOf("postgres://haft:hush@[half/x")).toBe("the configured database");
});
