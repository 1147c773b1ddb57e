// A server and a worker are killed again and again under load: no call is lost, doubled, done unasked or reported falsely.
//
// HAFT_SEED=n kills once; HAFT_SEED=a..b kills with these seeds, and HAFT_SEED=a.. continues from there. HAFT_ENGINE=SQLite,
// PostgreSQL or Redis selects the store. `npm run test:full -- --long endurance` kills 300, 100 and 100 times.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPostgres, type TestPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { hasRedis, startRedis, type TestRedis } from "../../src/store/start-redis.fixture.ts";
import { type Programs, Site } from "../calls/processes/site.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { Endurance } from "./endurance.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const SEED = process.env["HAFT_SEED"];
const ONLY = process.env["HAFT_ENGINE"];
const ENGINES = [
  { engine: "SQLite", full: 300, short: 3 },
  { engine: "PostgreSQL", full: 100, short: 2 },
  { engine: "Redis", full: 100, short: 0 },
] as const;
const INLINED = ["zod", "ws", "diff", "unbash", "picomatch", "ignore"];

const base = temporaryFolder("haft-endurance-");
let programs: Programs;
let client: string;
let postgres: TestPostgres | undefined;
let redis: TestRedis | undefined;

beforeAll(async () => {
  const cli = await bundleProgram("src/cli/main.ts", join(base, "cli"), { isSplit: true, inlined: INLINED });
  client = await bundleProgram("test/endurance/load-client.ts", join(base, "client"));
  programs = { cli, library: cli };
});

afterAll(async () => {
  await redis?.stop();
  await postgres?.stop();
});

async function openSite(engine: (typeof ENGINES)[number]["engine"]): Promise<Site> {
  const folder = join(base, engine);
  mkdirSync(folder);
  if (engine === "SQLite") return Site.open({ base: folder, programs });
  postgres ??= await startPostgres();
  const storeUrl = await postgres.createDatabase();
  if (engine === "PostgreSQL") return Site.open({ base: folder, programs, storeUrl });
  redis ??= await startRedis();
  return Site.open({ base: folder, programs, storeUrl, redisUrl: redis.createDatabase() });
}

function seedsOf({ full, short }: (typeof ENGINES)[number]): number[] {
  const [, first, isRange, last] = /^(\d+)(\.\.)?(\d+)?$/.exec(SEED ?? "") ?? [];
  const from = Number(first ?? 0);
  const to = last !== undefined ? Number(last) : first !== undefined && !isRange ? from : (FULL ? full : short) - 1;
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

describe.each(ENGINES)("under load on $engine", (plan) => {
  const { engine } = plan;
  const seeds = seedsOf(plan);
  const isWanted = (ONLY === undefined || ONLY === engine) && seeds.length > 0 && (engine !== "Redis" || hasRedis);
  test.runIf(isWanted)(
    "kills lose, double and invent nothing",
    async () => {
      const site = await openSite(engine);
      try {
        const endurance = await Endurance.start(site, client, seeds[0] ?? 0);
        try {
          for (const seed of seeds) {
            await endurance.kill(seed);
            const { kills, judged, unknown, faults } = endurance;
            if (FULL && seed % 10 === 0)
              process.stderr.write(
                `${engine}, seed ${seed}: ${kills} kills, ${judged} calls, ${unknown} unknown, ${faults.length} faults\n`,
              );
            if (faults.length > 20) break;
          }
        } finally {
          await endurance.finish();
        }
        const { kills, judged, unknown, faults } = endurance;
        if (FULL)
          process.stderr.write(
            `${engine}: ${kills} kills, ${judged} calls, ${unknown} unknown, ${faults.length} faults\n`,
          );
        expect(faults, faults.join("\n")).toEqual([]);
        expect(judged).toBeGreaterThan(0);
      } finally {
        await site.close();
      }
    },
    FULL ? 3 * 60 * 60_000 : 120_000,
  );
});
