import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/setup/until.ts";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { openStore, type Store } from "../store.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 120_000);
afterAll(() => server.stop());

/** A way to the server that breaks after a COMMIT, before its answer. */
interface BreakingWay {
  url: string;
  /** Breaks the connection that next sends a statement with this text, at its COMMIT. */
  breakAfter(text: string): void;
  readonly hasBroken: boolean;
}

async function breakingWay(to: string): Promise<BreakingWay> {
  const url = new URL(to);
  const serverPort = Number(url.port);
  let awaited: string | undefined;
  let hasBroken = false;
  const proxy = createServer((client) => {
    const upstream = connect(serverPort, "127.0.0.1");
    let isNext = false;
    const close = (): void => void [client.destroy(), upstream.destroy()];
    for (const socket of [client, upstream]) socket.on("error", close).on("close", close);
    const answer = (data: Buffer): void => void client.write(data);
    upstream.on("data", answer);
    client.on("data", (data) => {
      const sent = data.toString("latin1");
      isNext ||= awaited !== undefined && sent.includes(awaited);
      if (isNext && sent.includes("COMMIT")) {
        awaited = undefined;
        hasBroken = true;
        // The server has answered, so it has committed.
        upstream.off("data", answer).once("data", close);
      }
      upstream.write(data);
    });
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  onTestFinished(() => void proxy.close());
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    breakAfter: (text) => void (awaited = text),
    get hasBroken() {
      return hasBroken;
    },
  };
}

function start(store: Store, { works }: { works: boolean }) {
  let runs = 0;
  const send = createTool({
    ...{ name: "send", description: "Has an effect", kind: "write", needsApproval: false, parameters: [] },
    run: () => ++runs,
  });
  const { audit: log, calls, jobs } = store;
  const haft = createHaft({ tools: [send], log, calls, jobs, worker: works ? {} : false });
  onTestFinished(async () => {
    await haft.shutdown();
    await store.close();
  });
  return { haft, runs: () => runs };
}

test.each([
  ["taking", "SKIP LOCKED"],
  ["starting", "begun_at ="],
  ["ending", "ended_at ="],
])("a job runs once if the answer to the commit of %s it is lost", async (_step, text) => {
  const url = await server.createDatabase();
  const way = await breakingWay(url);
  const client = start(await openStore({ url }), { works: false });
  const worker = start(await openStore({ url: way.url }), { works: true });
  await worker.haft.jobs.work();
  way.breakAfter(text);
  const { pending } = (await client.haft.execute("send", {}, { background: true })) as { pending: { id: string } };
  await until(async () => (await client.haft.jobs.get(pending.id))?.endedAt !== undefined);
  expect(way.hasBroken).toBe(true);
  expect(await client.haft.jobs.get(pending.id)).toMatchObject({ state: "completed", attempt: 1, lost: 0 });
  expect(worker.runs()).toBe(1);
});
