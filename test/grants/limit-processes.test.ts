// Four processes that are killed (kill -9) while they use up a limit: never more calls than it has, and no greater sum.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Limit } from "../../src/gate/permit/rules/rule.ts";
import { createHaft } from "../../src/runtime.ts";
import { startPostgres, type TestPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { openStore, type StoreLocation } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const PROCESSES = 4;
const CALLS = 160;
const KILLS = 2;
const USES = 60;
const folder = temporaryFolder("haft-limit-processes-");
let server: TestPostgres;
let children: TestChildren;

beforeAll(async () => {
  [server, children] = await Promise.all([startPostgres(), prepareChildren()]);
}, 240_000);

afterAll(async () => {
  children.remove();
  await server.stop();
});

/** Pays, five calls at once. A killed process has its effect or not. */
const PAYER = `
  import { appendFileSync } from "node:fs";
  const [, , place, ledger, name, first, last, limits] = process.argv;
  const store = await openStore(JSON.parse(place));
  const haft = createHaft({ log: store.audit, calls: store.calls, rules: { limits: JSON.parse(limits) }, tools: [
    createTool({ name: "pay", kind: "execute", permission: "auto", description: "", amount: { parameter: "amount", unit: "EUR" },
      parameters: [{ name: "amount", type: "number" }, { name: "item", type: "string" }],
      run: async ({ item }) => {
        appendFileSync(ledger, item + "\\n");
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
        return item;
      } }),
  ] });
  let next = Number(first);
  const lane = async () => {
    while (next < Number(last)) {
      const item = name + "-" + next++;
      const result = await haft.execute("pay", { amount: 0.1, item }, { id: item, caller: { session: "s" } });
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
const limits: [string, Limit][] = [
  ["calls", { tools: "pay", calls: USES, per: "hour" }],
  ["a sum", { tools: "pay", sum: { EUR: USES / 10 }, per: "day", each: "session" }],
];

describe.each(places)("on %s", (_name, newLocation) => {
  test.each(limits)(
    "processes that are killed start exactly what a limit has: %s",
    async (what, limit) => {
      const place = await newLocation();
      const ledger = join(mkdtempSync(join(folder, "l-")), "effects");
      writeFileSync(ledger, "");
      const store = await openStore(place);
      onTestFinished(() => store.close());
      const haft = createHaft({ log: store.audit, calls: store.calls });
      onTestFinished(() => haft.shutdown());

      const play = async (name: string): Promise<void> => {
        const share = CALLS / PROCESSES;
        let first = 0;
        for (let round = 0; ; round++) {
          const words = [JSON.stringify(place), ledger, name, String(first), String(share), JSON.stringify([limit])];
          const child = children.start(PAYER, words);
          if (round >= KILLS) {
            const { code, errors } = await child.ended;
            if (code !== 0) throw new Error(errors);
            return;
          }
          await child.waitForOutput(" completed").catch(() => undefined);
          child.process.kill("SIGKILL");
          await child.ended;
          first = Math.max(first, ...child.lines().map((line) => Number.parseInt(line, 10) || 0)) + 5;
        }
      };
      await Promise.all(Array.from({ length: PROCESSES }, (_, n) => play(`${what.replace(" ", "-")}-${n}`)));

      const rows = await store.database.all<{ charges: string }>("SELECT charges FROM calls WHERE charges IS NOT NULL");
      const effects = readFileSync(ledger, "utf8").split("\n").filter(Boolean);
      process.stderr.write(`${what}: ${CALLS} calls, ${rows.length} charged, ${effects.length} effects\n`);
      expect(rows).toHaveLength(USES);
      expect(effects.length).toBeLessThanOrEqual(USES);
      expect(new Set(effects).size).toBe(effects.length);
      const max = what === "calls" ? USES : USES / 10;
      expect(await haft.policy.limits.list()).toMatchObject([{ used: max, max, left: 0 }]);
      expect(await store.audit.verify()).toMatchObject({ ok: true });
    },
    15 * 60_000,
  );
});
