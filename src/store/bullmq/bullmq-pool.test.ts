import * as bullmq from "bullmq";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openSharedPool } from "./engine.ts";
import { startPostgres, type TestPostgres } from "../postgres/start-postgres.fixture.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 60_000);
afterAll(() => server.stop());

interface Connection {
  query(text: string): Promise<unknown>;
  on(event: "notification", listener: (args: { channel: string; payload?: string }) => void): unknown;
  removeAllListeners(): unknown;
}

test("what is told while a part does not listen is told once it does, and only once", async () => {
  const pool = await openSharedPool(await server.createDatabase(), bullmq);
  onTestFinished(() => pool.close());
  const view = pool.view() as unknown as { connect(): Promise<Connection>; query(text: string): Promise<unknown> };
  const [busy, witness] = [await view.connect(), await view.connect()];
  for (const each of [busy, witness]) await each.query("LISTEN bullmq_events");
  const seen: unknown[] = [];
  witness.on("notification", ({ payload }) => void seen.push(payload));
  await view.query("SELECT pg_notify('bullmq_events', 'a'), pg_notify('bullmq_events', 'b')");
  while (seen.length < 2) await turn();
  const received: unknown[] = [];
  busy.on("notification", ({ payload }) => void received.push(payload));
  while (received.length < 2) await turn();
  busy.removeAllListeners();
  busy.on("notification", ({ payload }) => void received.push(payload));
  await view.query("SELECT pg_notify('bullmq_events', 'c')");
  while (!received.includes("c")) await turn();
  expect(received).toEqual(["a", "b", "c"]);
});

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
