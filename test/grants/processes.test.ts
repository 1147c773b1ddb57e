// Four processes that are killed (kill -9) while they use up one grant: exactly what it has is claimed, and each claim is an
// effect or an unknown outcome. HAFT_FULL=1: 5,000 calls.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createHaft } from "../../src/runtime.ts";
import { startPostgres, type TestPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { prepareChildren, type TestChild, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { openStore, type StoreLocation } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const PROCESSES = 4;
const CALLS = FULL ? 5000 : 400;
/** Of each process, before the grant is used up. */
const KILLS = 2;
const USES = 100;
const folder = temporaryFolder("haft-grant-processes-");
let server: TestPostgres;
let children: TestChildren;

beforeAll(async () => {
  [server, children] = await Promise.all([startPostgres(), prepareChildren()]);
}, 120_000);

afterAll(async () => {
  children.remove();
  await server.stop();
});

interface ChargedRow {
  call_id: string;
  outcome: string;
  charges: string;
}

/** Pays, five calls at once. A killed process has its effect or not, and nobody knows. */
const PAYER = `
  import { appendFileSync } from "node:fs";
  const [, , place, ledger, name, first, last] = process.argv;
  const store = await openStore(JSON.parse(place));
  const haft = createHaft({ log: store.audit, calls: store.calls, tools: [
    createTool({ name: "pay", kind: "execute", permission: "confirm", description: "", amount: { parameter: "amount", unit: "EUR" },
      parameters: [{ name: "amount", type: "number" }, { name: "item", type: "string" }],
      run: async ({ item }) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
        appendFileSync(ledger, item + "\\n");
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
        return item;
      } }),
  ] });
  let next = Number(first);
  const lane = async () => {
    while (next < Number(last)) {
      const item = name + "-" + next++;
      // Nobody is asked: without the grant it is denied.
      const result = await haft.execute("pay", { amount: 0.1, item }, { id: item, caller: { session: "s" }, mode: "dontAsk" });
      say(next + " " + result.status + " " + (result.error?.code ?? ""));
    }
  };
  await Promise.all([lane(), lane(), lane(), lane(), lane()]);
  await haft.shutdown();
  await store.close();
  say("end");`;

const places: [string, () => Promise<StoreLocation>][] = [
  ["SQLite", () => Promise.resolve({ stateFolder: mkdtempSync(join(folder, "s-")) })],
  ["PostgreSQL", async () => ({ url: await server.createDatabase() })],
];
const grants = [
  ["uses", { maxUses: USES }],
  ["a sum", { budget: { unit: "EUR", max: USES / 10 } }],
] as const;

describe.each(places)("on %s", (_name, newLocation) => {
  test.each(grants)(
    "processes that are killed claim exactly what a grant of 100 has: %s",
    async (what, bounds) => {
      const place = await newLocation();
      const ledger = join(mkdtempSync(join(folder, "l-")), "effects");
      writeFileSync(ledger, "");
      const store = await openStore(place);
      onTestFinished(() => store.close());
      const haft = createHaft({ log: store.audit, calls: store.calls });
      onTestFinished(() => haft.shutdown());
      const { id } = await haft.policy.grants.give({ holder: {}, rules: ["pay"], why: "test", ...bounds });

      let kills = 0;
      const play = async (name: string): Promise<void> => {
        const share = CALLS / PROCESSES;
        let first = 0;
        for (let round = 0; ; round++) {
          const words = [JSON.stringify(place), ledger, name, String(first), String(share)];
          const child: TestChild = children.start(PAYER, words);
          if (round >= KILLS) {
            const { code, errors } = await child.ended;
            if (code !== 0) throw new Error(errors);
            return;
          }
          // After a few calls, while others run.
          await child.waitForOutput(" completed").catch(() => undefined);
          child.process.kill("SIGKILL");
          await child.ended;
          kills++;
          // Ids of calls that may have started are not used again.
          first = Math.max(first, ...child.lines().map((line) => Number.parseInt(line, 10) || 0)) + 5;
        }
      };
      await Promise.all(Array.from({ length: PROCESSES }, (_, n) => play(`${what.replace(" ", "-")}-${n}`)));

      await expect
        .poll(
          async () => {
            await haft.calls.recover();
            return (await store.database.all("SELECT id FROM calls WHERE state = 'running'")).length;
          },
          { timeout: 120_000, interval: 500 },
        )
        .toBe(0);
      const rows = await store.database.all<ChargedRow>(
        "SELECT call_id, outcome, charges FROM calls WHERE charges IS NOT NULL",
      );
      const charged = rows
        .filter(({ charges }) => charges.includes(id))
        .map(({ call_id: callId, outcome }) => ({ callId: String(JSON.parse(callId)), outcome }));
      const effects = readFileSync(ledger, "utf8").split("\n").filter(Boolean);
      const unknown = charged.filter(({ outcome }) => outcome === "unknown");
      process.stderr.write(
        `${what}: ${CALLS} calls, ${kills} kills, ${charged.length} claims, ${effects.length} effects, ${unknown.length} unknown\n`,
      );
      const grant = await haft.policy.grants.get(id);
      expect(grant).toMatchObject({ used: USES, unknown: unknown.length });
      expect(grant?.spent).toBe(grant?.budget?.max ?? 0);
      expect(charged).toHaveLength(USES);
      // Once each, and only by a claim.
      expect(new Set(effects).size).toBe(effects.length);
      const ids = new Set(charged.map(({ callId }) => callId));
      expect(effects.filter((item) => !ids.has(item))).toEqual([]);
      const known = charged.filter(({ outcome }) => outcome === "completed").map(({ callId }) => callId);
      expect(known.filter((callId) => !effects.includes(callId))).toEqual([]);
      expect(known.length + unknown.length).toBe(USES);
      expect(await store.audit.verify()).toMatchObject({ ok: true });
    },
    15 * 60_000,
  );
});
