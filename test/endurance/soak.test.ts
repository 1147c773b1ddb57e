// A server under a steady load: memory, descriptors and the store stop growing, and every call is answered.
//
// `npm run test:full -- --long soak` takes 30 minutes at 300 calls a second; HAFT_SOAK_MINUTES and HAFT_SOAK_RATE set others.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Site } from "../calls/processes/site.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { ClientParty } from "./client-party.ts";
import type { ToldCall } from "./load-client.ts";

const MINUTES = Number(process.env["HAFT_SOAK_MINUTES"] ?? 30);
const RATE = Number(process.env["HAFT_SOAK_RATE"] ?? 300);
const CLIENTS = 2;
const MAX_AT_ONCE = 100;
const SAMPLES = 30;
/** The server itself prunes once an hour. */
const SAMPLES_BETWEEN_PRUNINGS = 3;
const MAX_STORE_MB = 64;
const CONFIG = { store: { retention: { maxMb: MAX_STORE_MB } } };
/** How much more the last third may have than the second: what a garbage collector leaves. */
const MAX_GROWTH = { rss: 1.15, descriptors: 1.1, store: 1.15 };

interface Sample {
  minute: number;
  calls: number;
  /** In MB. */
  rss: number;
  descriptors: number;
  /** In MB: all files of the state folder, without the write-ahead log, which has a limit of its own. */
  store: number;
  log: number;
}

describe.runIf(process.env["HAFT_FULL"] === "1" && process.platform === "linux")("a server under a steady load", () => {
  test(
    "does not grow, and answers every call",
    async () => {
      const base = temporaryFolder("haft-soak-");
      const cli = await bundleProgram("src/cli/main.ts", join(base, "cli"), { isSplit: true });
      const program = await bundleProgram("test/endurance/load-client.ts", join(base, "client"));
      mkdirSync(join(base, "site"));
      const site = await Site.open({ base: join(base, "site"), programs: { cli, library: cli }, config: CONFIG });
      writeFileSync(join(site.folder, "note.txt"), "a note");
      const server = site.freshServer();
      const clients = Array.from({ length: CLIENTS }, (_, index) => {
        const options = { name: `c${index}`, seed: index, atOnce: MAX_AT_ONCE, perSecond: RATE / CLIENTS };
        return new ClientParty(program, site.folder, options);
      });
      try {
        const url = await server.url();
        for (const client of clients) client.use(url);
        const outcomes = new Map<string, number>();
        const samples: Sample[] = [];
        const times: number[] = [];
        let calls = 0;
        const count = (told: readonly ToldCall[]): void => {
          calls += told.length;
          for (const { kind, said, ms } of told) {
            outcomes.set(`${kind} ${said}`, (outcomes.get(`${kind} ${said}`) ?? 0) + 1);
            if (kind === "read") times.push(ms);
          }
        };
        for (let taken = 1; taken <= SAMPLES; taken++) {
          await new Promise((resolve) => setTimeout(resolve, (MINUTES * 60_000) / SAMPLES));
          count(clients.flatMap((client) => client.take()));
          if (taken % SAMPLES_BETWEEN_PRUNINGS === 0) {
            const { code, text } = await site.command(["store", "prune"]).told;
            if (code !== 0) throw new Error(`haft store prune failed: ${text}`);
          }
          samples.push({
            minute: Math.round((taken * MINUTES * 100) / SAMPLES) / 100,
            calls,
            ...usageOf(server.pid ?? 0, join(base, "site", "state")),
          });
          process.stderr.write(`soak: ${JSON.stringify(samples.at(-1))}\n`);
        }
        await Promise.all(clients.map((client) => client.stop()));
        count(clients.flatMap((client) => client.take()));
        const latency = percentiles(times);
        process.stderr.write(`soak: ${JSON.stringify({ calls, latency, ...Object.fromEntries(outcomes) })}\n`);
        expect([...outcomes.keys()].sort()).toEqual([
          "job completed",
          "pay approval_denied",
          "pay completed",
          "read completed",
          "spend completed",
        ]);
        expect(growthOf(samples)).toEqual([]);
        expect((await site.store.audit.verify()).problems).toEqual([]);
      } finally {
        for (const client of clients) client.kill();
        await site.close();
      }
    },
    (MINUTES + 10) * 60_000,
  );
});

function usageOf(pid: number, folder: string): Pick<Sample, "rss" | "descriptors" | "store" | "log"> {
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizeOf = (isLog: boolean): number => {
    const chosen = files.filter(({ name }) => /-(?:wal|shm)$/.test(name) === isLog);
    // A file may be deleted meanwhile.
    const sizes = chosen.map(
      ({ parentPath, name }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0,
    );
    return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1024 / 102.4) / 10;
  };
  return { rss: Math.round(rss), descriptors, store: sizeOf(false), log: sizeOf(true) };
}

/** Compares medians of the second and the last third: the first one warms up. */
function growthOf(samples: readonly Sample[]): string[] {
  const third = Math.floor(samples.length / 3);
  return (["rss", "descriptors", "store"] as const).flatMap((what) => {
    const values = samples.map((sample) => sample[what]);
    const before = percentile(values.slice(third, 2 * third), 0.5);
    const after = percentile(values.slice(2 * third), 0.5);
    // Up to its limit the store may grow; entries are deleted in whole segments.
    if (what === "store" && after < MAX_STORE_MB * 1.25) return [];
    return after > before * MAX_GROWTH[what] ? [`${what} grew from ${before} to ${after}`] : [];
  });
}

function percentiles(times: readonly number[]): Record<string, number> {
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: percentile(times, 1) };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
