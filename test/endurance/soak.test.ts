// A server under a steady load, with restarts, kills, retention and backups: every call is answered, no effect happens twice,
// and memory, descriptors and the store stop growing.
//
// `npm run test:full -- --long soak` takes 30 minutes at 200 calls a second; HAFT_SOAK_MINUTES and HAFT_SOAK_RATE set others.
// With HAFT_SOAK_FOLDER it keeps its state there, and a second run with the same folder continues after the last sample.
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Site } from "../calls/processes/site.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { ClientParty } from "./client-party.ts";
import type { ToldCall } from "./load-client.ts";

const MINUTES = Number(process.env["HAFT_SOAK_MINUTES"] ?? 30);
const RATE = Number(process.env["HAFT_SOAK_RATE"] ?? 200);
const CLIENTS = 2;
const MAX_AT_ONCE = 100;
const SAMPLES = 30;
/** The server itself prunes once an hour. */
const SAMPLES_BETWEEN_PRUNINGS = 3;
const SAMPLES_BETWEEN_BACKUPS = 7;
/** Restarts and kills are in the first sixth and at the end: memory is judged between them. */
const STOPS: Readonly<Record<number, "SIGTERM" | "SIGKILL">> = {
  2: "SIGTERM",
  4: "SIGKILL",
  28: "SIGKILL",
  29: "SIGTERM",
};
const [FIRST_JUDGED, LAST_JUDGED] = [5, 28];
const MAX_WAL_MB = 64;
const MAX_STORE_MB = 64;
/** The default of three calls at a time is for one agent. */
const CONFIG = { tools: { maxConcurrent: 50 }, store: { retention: { maxMb: MAX_STORE_MB } } };
/** How much more the last half may have than the first: what a garbage collector leaves. */
const MAX_GROWTH = { rss: 1.15, descriptors: 1.1 };
/** The store keeps the id and the result of each call for a day, beside the audit log, which has the limit. */
const MAX_KB_PER_CALL = 2;

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

/** What a run that was stopped continues with. */
interface Progress {
  samples: Sample[];
  calls: number;
  outcomes: Record<string, number>;
  /** How many reads took so many milliseconds. */
  times: Record<number, number>;
}

describe.runIf(process.env["HAFT_FULL"] === "1" && process.platform === "linux")("a server under a steady load", () => {
  test(
    "does not grow, answers every call, and does nothing twice",
    async () => {
      const base = process.env["HAFT_SOAK_FOLDER"] ?? temporaryFolder("haft-soak-");
      mkdirSync(join(base, "site"), { recursive: true });
      const saved = join(base, "soak.json");
      const progress: Progress = existsSync(saved)
        ? (JSON.parse(readFileSync(saved, "utf8")) as Progress)
        : { samples: [], calls: 0, outcomes: {}, times: {} };
      const { samples, outcomes, times } = progress;
      const programs = temporaryFolder("haft-soak-programs-");
      const cli = await bundleProgram("src/cli/main.ts", join(programs, "cli"), { isSplit: true });
      const program = await bundleProgram("test/endurance/load-client.ts", join(programs, "client"));
      const site = await Site.open({ base: join(base, "site"), programs: { cli, library: cli }, config: CONFIG });
      writeFileSync(join(site.folder, "note.txt"), "a note");
      let server = site.freshServer();
      const clients = Array.from({ length: CLIENTS }, (_, index) => {
        const name = `c${index}-${samples.length}`;
        const options = { name, seed: samples.length + index, atOnce: MAX_AT_ONCE, perSecond: RATE / CLIENTS };
        return new ClientParty(program, site.folder, options);
      });
      const useServer = async (): Promise<void> => {
        const url = await server.url();
        for (const client of clients) client.use(url);
      };
      const stop = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
        if (server.pid !== undefined) process.kill(server.pid, signal);
        await server.ended;
        for (const client of clients) client.use(undefined);
        server = site.freshServer();
        await useServer();
      };
      const run = async (args: string[]): Promise<void> => {
        const { code, text } = await site.command(args).told;
        if (code !== 0) throw new Error(`haft ${args.join(" ")} failed: ${text}`);
      };
      const count = (told: readonly ToldCall[]): void => {
        progress.calls += told.length;
        for (const { kind, said, ms } of told) {
          outcomes[`${kind} ${said}`] = (outcomes[`${kind} ${said}`] ?? 0) + 1;
          if (kind === "read") times[ms] = (times[ms] ?? 0) + 1;
        }
      };
      try {
        await useServer();
        for (let taken = samples.length + 1; taken <= SAMPLES; taken++) {
          await new Promise((resolve) => setTimeout(resolve, (MINUTES * 60_000) / SAMPLES));
          count(clients.flatMap((client) => client.take()));
          if (taken % SAMPLES_BETWEEN_PRUNINGS === 0) await run(["store", "prune"]);
          if (taken % SAMPLES_BETWEEN_BACKUPS === 0) await run(["store", "backup", join(base, `backup-${taken}.db`)]);
          samples.push({
            minute: Math.round((taken * MINUTES * 100) / SAMPLES) / 100,
            calls: progress.calls,
            ...usageOf(server.pid ?? 0, join(base, "site", "state")),
          });
          writeFileSync(saved, JSON.stringify(progress));
          process.stderr.write(`soak: ${JSON.stringify(samples.at(-1))}\n`);
          const signal = STOPS[taken];
          if (signal) await stop(signal);
        }
        await Promise.all(clients.map((client) => client.stop()));
        count(clients.flatMap((client) => client.take()));
        const latency = percentilesOf(times);
        process.stderr.write(`soak: ${JSON.stringify({ calls: progress.calls, latency, ...outcomes })}\n`);
        const lost = Object.keys(outcomes).filter((outcome) => outcome.endsWith(" unknown_outcome"));
        expect(
          Object.keys(outcomes)
            .filter((outcome) => !lost.includes(outcome))
            .sort(),
        ).toEqual(["job completed", "pay approval_denied", "pay completed", "read completed", "spend completed"]);
        // Only what ran when a process was killed.
        const killed = Object.values(STOPS).filter((signal) => signal === "SIGKILL").length;
        expect(lost.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0)).toBeLessThanOrEqual(
          killed * CLIENTS * MAX_AT_ONCE,
        );
        expect([...site.effects()].filter(([, effects]) => effects.length > 1)).toEqual([]);
        expect(growthOf(samples)).toEqual([]);
        // While a backup reads, the write-ahead log cannot be emptied.
        const logs = samples.filter((_, at) => (at + 1) % SAMPLES_BETWEEN_BACKUPS !== 0).map(({ log }) => log);
        expect(Math.max(...logs)).toBeLessThanOrEqual(MAX_WAL_MB);
        const kept = (progress.calls * MAX_KB_PER_CALL) / 1024;
        expect(samples.at(-1)?.store).toBeLessThan(MAX_STORE_MB * 1.25 + kept);
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
  const descriptors = readdirSync(`/proc/${pid}/fd`).filter((fd) => !isSocket(`/proc/${pid}/fd/${fd}`)).length;
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

/** How many connections are open depends on how busy the machine is. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    // Closed meanwhile.
    return true;
  }
}

/** Compares medians of two halves of what one process has written. */
function growthOf(samples: readonly Sample[]): string[] {
  const judged = samples.slice(FIRST_JUDGED, LAST_JUDGED);
  const half = Math.floor(judged.length / 2);
  return (["rss", "descriptors"] as const).flatMap((what) => {
    const values = judged.map((sample) => sample[what]);
    // Descriptors of files come and go. One that is never closed is in every sample.
    const share = what === "descriptors" ? 0 : 0.5;
    const before = percentile(values.slice(0, half), share);
    const after = percentile(values.slice(half), share);
    return after > before * MAX_GROWTH[what] ? [`${what} grew from ${before} to ${after}`] : [];
  });
}

function percentilesOf(times: Readonly<Record<number, number>>): Record<string, number> {
  const sorted = Object.entries(times).sort(([a], [b]) => Number(a) - Number(b));
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  const at = (share: number): number => {
    let seen = 0;
    return Number(sorted.find(([, count]) => (seen += count) >= all * share)?.[0] ?? 0);
  };
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
