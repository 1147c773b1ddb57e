// With HAFT_FULL=1: calls that are stopped while they have their effect, and servers that are restarted while they work.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPostgres, type TestPostgres } from "../../../src/store/postgres/start-postgres.fixture.ts";
import { bundleProgram } from "../../setup/bundle-program.ts";
import { temporaryFolder } from "../../setup/temporary-folder.ts";
import { SERVER_TOKEN, type ServerParty } from "./parties.ts";
import { randomOf } from "./schedule.ts";
import { Site } from "./site.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const ROUNDS = 200;
const CALLS_PER_SECOND = 50;
const MAX_OPEN_CALLS = 25;
const base = temporaryFolder("haft-endings-");
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Answer {
  status?: string;
  error?: { code: string; retryable?: boolean; message: string };
}

async function spend(server: ServerParty, body: object, signal?: AbortSignal): Promise<Answer> {
  const response = await fetch(`${await server.url()}/api/calls`, {
    method: "POST",
    headers: { authorization: `Bearer ${SERVER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "spend", ...body }),
    signal,
  });
  return (await response.json()) as Answer;
}

describe.runIf(FULL)("with servers of their own", () => {
  let cli: string;
  let postgres: TestPostgres;
  beforeAll(async () => {
    cli = await bundleProgram("src/cli/main.ts", join(base, "cli"), { isSplit: true });
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  async function openSite(name: string, storeUrl?: string): Promise<Site> {
    mkdirSync(join(base, name));
    return Site.open({ base: join(base, name), programs: { cli, library: cli }, storeUrl });
  }

  /** What the answer says, compared with what happened once nothing runs any more. */
  function faultOf({ status, error }: Answer, effects: number): string | undefined {
    if (effects > 1) return `doubled: ${effects} effects`;
    if (status === "completed") return effects === 1 ? undefined : "completed without an effect";
    if (error?.code === "unknown_outcome") return error.retryable ? "unknown, and may be repeated" : undefined;
    if (effects === 0) return undefined;
    return `it happened, and the caller was told ${error?.code}: ${error?.message}`;
  }

  test.each(["SIGTERM", "time limit", "hang-up"] as const)(
    "a call that is stopped by %s has a true end",
    async (stop) => {
      const site = await openSite(stop.replace(" ", "-"));
      const faults: string[] = [];
      const rounds = Math.ceil(ROUNDS / 3);
      let completed = 0;
      let unknown = 0;
      for (let round = 0; round < rounds; round++) {
        const random = randomOf(round);
        const item = `${stop.replace(" ", "-")}-${round}`;
        const server = stop === "SIGTERM" ? site.freshServer() : site.server();
        await server.ready();
        const input = { item, before: Math.floor(random() * 200), ms: Math.floor(random() * 3000) };
        const stopAt = Math.floor(random() * 400);
        const call = { id: item, session: "s", input };
        let answer: Answer;
        if (stop === "time limit") answer = await spend(server, { ...call, timeoutMs: stopAt + 1 });
        else if (stop === "SIGTERM") {
          const answered = spend(server, call);
          await pause(stopAt);
          const closed = server.close();
          answer = await answered.catch((error: Error) => ({
            error: { code: "no answer", message: String(error.cause) },
          }));
          await closed;
        } else {
          const controller = new AbortController();
          const answered = spend(server, call, controller.signal).catch(() => undefined);
          await pause(stopAt);
          controller.abort();
          // The client asks again with the same id.
          answer = (await answered) ?? (await spend(server, call));
        }
        if (stop !== "SIGTERM") await pause(input.before + input.ms - stopAt);
        if (answer.status === "completed") completed++;
        if (answer.error?.code === "unknown_outcome") unknown++;
        const fault = faultOf(answer, site.effectsOf(item).length);
        if (fault !== undefined)
          faults.push(`round ${round}, ${JSON.stringify(input)}, stopped at ${stopAt} ms: ${fault}`);
      }
      await site.close();
      process.stderr.write(
        `${stop}: ${rounds} rounds, ${completed} completed, ${unknown} unknown, ${faults.length} false\n`,
      );
      expect(faults).toEqual([]);
    },
    60 * 60_000,
  );

  test(
    "no call fails while three servers are restarted one after the other",
    async () => {
      const site = await openSite("rolling", await postgres.createDatabase());
      const servers = [site.freshServer(), site.freshServer(), site.freshServer()];
      await Promise.all(servers.map((server) => server.ready()));
      const faults: string[] = [];
      const calls: Promise<void>[] = [];
      let isOver = false;
      let retries = 0;
      let open = 0;
      /** Another server if this one takes no more calls: a call that was not taken has not happened. */
      const callOnce = async (n: number): Promise<void> => {
        const item = `rolling-${n}`;
        for (let tries = 0; tries < 60; tries++) {
          const server = servers[(n + tries) % servers.length]!;
          try {
            const { status, error } = await spend(server, {
              id: item,
              session: "s",
              input: { item, before: 0, ms: 50 },
            });
            if (status === "completed") return;
            if (error?.code !== "shutdown" && error?.code !== "unavailable") {
              faults.push(`${item}: ${error?.code} ${error?.message}`);
              return;
            }
          } catch (error) {
            const { code } = ((error as Error).cause ?? {}) as { code?: string };
            if (code !== "ECONNREFUSED") faults.push(`${item}: ${String((error as Error).cause ?? error)}`);
          }
          retries++;
          await pause(100);
        }
        faults.push(`${item}: no server took it`);
      };
      const started = performance.now();
      const caller = (async () => {
        for (let n = 0; !isOver; n++) {
          // A busy machine does less than 50 calls per second. More and more open calls would test only its overload.
          while (open >= MAX_OPEN_CALLS) await pause(5);
          open++;
          calls.push(callOnce(n).finally(() => open--));
          // By the clock: a pause takes longer on a busy machine.
          await pause(started + (n + 1) * (1000 / CALLS_PER_SECOND) - performance.now());
        }
      })();
      for (let index = 0; index < servers.length; index++) {
        await pause(5000);
        const old = servers[index]!;
        await old.close();
        servers[index] = site.freshServer();
        await servers[index]!.ready();
      }
      await pause(5000);
      isOver = true;
      await caller;
      const seconds = (performance.now() - started) / 1000;
      await Promise.all(calls);
      const rate = (calls.length / seconds).toFixed(1);
      process.stderr.write(
        `rolling restart: ${calls.length} calls, ${rate} per second, ${retries} sent again, ${faults.length} failed\n`,
      );
      const wrong = calls.map((_, n) => site.effectsOf(`rolling-${n}`).length).filter((effects) => effects !== 1);
      await site.close();
      expect(calls.length).toBeGreaterThan(200);
      expect(faults).toEqual([]);
      expect(wrong).toEqual([]);
    },
    10 * 60_000,
  );
});
