import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../../test/setup/until.ts";
import { failedJob, unknownJob } from "../../calls/job.ts";
import { openStore } from "../store.ts";
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

  test("its health says that it is lost while it cannot be reached, and that it is there again", async () => {
    const url = new URL(await server.createDatabase());
    const postgresPort = Number(url.port);
    const open = new Set<Socket>();
    const proxy = createServer((client) => {
      const upstream = connect(postgresPort, "127.0.0.1");
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        open.add(from);
        from.on("error", () => to.destroy()).pipe(to);
      }
    });
    const listen = (port: number): Promise<void> =>
      new Promise((done) => proxy.listen(port, "127.0.0.1", () => done()));
    await listen(0);
    const { port } = proxy.address() as AddressInfo;
    url.port = String(port);
    const database = await openPostgres(url.href);
    expect(await database.health()).toEqual({ state: "ok" });
    await new Promise((done) => {
      proxy.close(done);
      for (const socket of open) socket.destroy();
    });
    await until(async () => (await database.health()).state === "lost");
    await listen(port);
    await until(async () => (await database.health()).state === "ok");
    await database.close();
    await new Promise((done) => proxy.close(done));
  });

  test("is reported as starting if it says so, and not as full", async () => {
    const message = "the database system is starting up";
    const fields = Buffer.from(`SFATAL\0C57P03\0M${message}\0\0`);
    const head = Buffer.from("E\0\0\0\0");
    head.writeInt32BE(fields.length + 4, 1);
    const starting = createServer((client) => {
      client.on("error", () => undefined).once("data", () => client.end(Buffer.concat([head, fields])));
    });
    await new Promise<void>((done) => starting.listen(0, "127.0.0.1", done));
    const { port } = starting.address() as AddressInfo;
    await expect(openPostgres(`postgres://haft:x@127.0.0.1:${port}/haft`)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/is starting or restarting \(the database system is starting up\)\. Wait/),
    });
    await new Promise((done) => starting.close(done));
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

  test("without notifications a job reaches a worker of another process, and its end whoever submitted it", async () => {
    const url = await server.createDatabase();
    const [client, worker, database] = [await openStore({ url }), await openStore({ url }), await openPostgres(url)];
    const listening = "FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()";
    const deafen = () => database.all(`SELECT pg_terminate_backend(pid) AS ended ${listening}`);
    let hasEnded = false;
    client.jobs.subscribe(({ type }) => void (hasEnded ||= type === "ended"));
    await worker.jobs.work({
      tools: () => ["tool"],
      concurrency: 1,
      run: async (job) => ({ result: failedJob(job, unknownJob("none"), 1) }),
    });
    await until(async () => (await database.all(`SELECT pid ${listening}`)).length === 2);
    await deafen();
    const { id } = await client.jobs.submit({
      call: {
        ...{ callId: "c", toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {} },
        ...{ verdict: { decision: "allow", by: "tool", reason: "" }, idempotent: false },
      },
      ...{ priority: 0, delayMs: 0, attempts: 1 },
    });
    await until(async () => (await deafen(), hasEnded));
    expect(await client.jobs.get(id)).toMatchObject({ state: "failed" });
    for (const opened of [client, worker, database]) await opened.close();
  });

  test("a process listens on one connection, also if connections broke while they were made", async () => {
    const url = new URL(await server.createDatabase());
    const postgresPort = Number(url.port);
    let toBreak = 2;
    const proxy = createServer((client) => {
      const upstream = connect(postgresPort, "127.0.0.1");
      const close = (): void => void [client.destroy(), upstream.destroy()];
      for (const socket of [client, upstream]) socket.on("error", close).on("close", close);
      upstream.pipe(client);
      client.on("data", (data) => {
        const isBroken = data.includes("LISTEN ") && toBreak-- > 0;
        if (isBroken) close();
        else upstream.write(data);
      });
    });
    await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
    const direct = await openPostgres(url.href);
    url.port = String((proxy.address() as AddressInfo).port);
    const database = await openPostgres(url.href);
    const stop = database.watch(() => undefined);
    // Those that are made in vain would be made by now.
    await until(() => toBreak < 0);
    await new Promise((done) => setTimeout(done, 2500));
    const sql = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()";
    expect(await direct.all(sql)).toHaveLength(1);
    stop();
    for (const opened of [database, direct]) await opened.close();
    await new Promise((done) => proxy.close(done));
  });

  test("a process that closes right after its commit announces it", async () => {
    const url = await server.createDatabase();
    const listener = new pg.Client({ connectionString: url });
    await listener.connect();
    const received: string[] = [];
    listener.on("notification", ({ channel }) => void received.push(channel));
    await listener.query("LISTEN haft_changes");
    const database = await openPostgres(url);
    await database.transaction((tx) => tx.run("CREATE TABLE t (a BIGINT)"));
    await database.close();
    await until(() => received.length > 0);
    expect(received).toEqual(["haft_changes"]);
    await listener.end();
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
    ["no URL at all", () => "postgres://haft:hush@[half/x", /not a valid URL.*postgres:/],
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
