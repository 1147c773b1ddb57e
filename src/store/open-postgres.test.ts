import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgres } from "./open-postgres.ts";
import { describeSqlDatabase } from "./sql-database.suite.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.suite.ts";

let server: TestPostgres;

beforeAll(async () => {
  server = await startPostgres();
}, 120_000);

afterAll(async () => {
  await server.stop();
});

describeSqlDatabase("PostgreSQL", async () => openPostgres(await server.createDatabase()));

describe("PostgreSQL", () => {
  test("reconnects after the server was started again, and says meanwhile what is wrong", async () => {
    const database = await openPostgres(await server.createDatabase());
    await database.run("CREATE TABLE t (a BIGINT)");
    let failure: unknown;
    const torn = Promise.resolve(
      database.transaction(async (tx) => {
        await tx.run("INSERT INTO t VALUES (1)");
        await server.restart();
        await tx.run("INSERT INTO t VALUES (2)");
      }),
    ).catch((error: unknown) => void (failure = error));
    await torn;
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringContaining("cannot be reached") });
    await database.transaction((tx) => tx.run("INSERT INTO t VALUES (3)"));
    expect(await database.all("SELECT a FROM t")).toEqual([{ a: 3 }]);
    await database.close();
  });

  test.each([
    [
      "a wrong password",
      (url: string) => url.replace("pass%25word", "hush%40me"),
      /refused the login.*Check user and password/,
    ],
    ["a database that is not there", (url: string) => `${url}x`, /no such database.*Create/],
    [
      "a port where nobody listens",
      (url: string) => url.replace(/:\d+\//, ":1/"),
      /cannot be reached.*Start the server/,
    ],
    ["no URL at all", () => "postgres://haft:hush@[half/x", /no URL.*postgres:/],
  ])("says what to do about %s, and never the password", async (_what, change, message) => {
    const failure = await openPostgres(change(await server.createDatabase())).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
    const everything = `${failure?.stack} ${String((failure?.cause as Error | undefined)?.stack)} ${JSON.stringify(failure)}`;
    expect(everything).not.toMatch(/hush|pass%|pass%25word/);
  });

  test("names the command when its driver is not installed", async () => {
    const load = () => Promise.reject(new Error("Cannot find package 'pg'"));
    await expect(openPostgres("postgres://localhost/x", { load })).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining("npm install pg"),
    });
  });
});
