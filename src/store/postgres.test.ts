import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgres } from "./postgres.ts";
import { type OwnPostgres, startOwnPostgres } from "./start-postgres.fixture.ts";

let server: OwnPostgres;

beforeAll(async () => {
  server = await startOwnPostgres();
}, 120_000);

afterAll(async () => {
  await server.stop();
});

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

  test("a request waits for a free connection longer than connecting may take", async () => {
    const database = await openPostgres(await server.createDatabase(), { connections: 1, maxConnectMs: 1500 });
    const slow = Array.from({ length: 5 }, async (_, n) => {
      const [row] = await database.all<{ n: number }>(`SELECT ${n} AS n, pg_sleep(0.4)::text`);
      return row?.n;
    });
    expect(await Promise.all(slow)).toEqual([0, 1, 2, 3, 4]);
    await database.close();
  });

  test("who vanishes in the middle of a transaction does not keep the others waiting", async () => {
    const url = await server.createDatabase();
    const vanishing = await openPostgres(url, { maxIdleMs: 100 });
    const other = await openPostgres(url);
    let isAway = true;
    let hasLock = false;
    let failure: unknown;
    const cut = Promise.resolve(
      vanishing.transaction(async (tx) => {
        await tx.lock("one");
        hasLock = true;
        while (isAway) await new Promise((resolve) => setTimeout(resolve, 5));
        await tx.run("SELECT 1");
      }),
    ).catch((error: unknown) => void (failure = error));
    while (!hasLock) await new Promise((resolve) => setTimeout(resolve, 5));
    await other.transaction((tx) => tx.lock("one"));
    isAway = false;
    await cut;
    expect(failure).toMatchObject({ code: "unavailable" });
    expect(await vanishing.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await Promise.all([vanishing.close(), other.close()]);
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
