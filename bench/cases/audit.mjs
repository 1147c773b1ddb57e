// Calls a second with everything recorded: audit log and journal in SQLite, beside bare inserts into the same database.
import { interleave, median, runChild } from "../harness.mjs";

export const name = "audit";

const ROUNDS = 3;

export async function run({ report }) {
  const subject = (what, inFlight) => () => runChild("time-audit.mjs", [what, inFlight]);
  const taken = await interleave(
    {
      readOneByOne: subject("readonly", 1),
      readMany: subject("readonly", 16),
      writeOneByOne: subject("write", 1),
      writeMany: subject("write", 16),
      bare: subject("bare", 1),
    },
    ROUNDS,
  );
  const rate = (rounds) => median(rounds.map(({ perSecond }) => perSecond));
  const slowest = (rounds) => Math.min(...rounds.map(({ slowestSecond }) => slowestSecond));
  const row = (title, rounds, atLeast) => {
    report({ case: `${title}, wall`, value: rate(rounds), unit: "calls/s", ...(atLeast ? { atLeast } : {}) });
    report({ case: `${title}, the slowest second of all rounds, wall`, value: slowest(rounds), unit: "calls/s" });
    report({ case: title, value: median(rounds.map(({ cpuMicroseconds }) => cpuMicroseconds)), unit: "µs CPU" });
  };
  row("read-only, one after the other", taken.readOneByOne, 1000);
  row("read-only, 16 at a time", taken.readMany, 1000);
  row("write, one after the other", taken.writeOneByOne, 300);
  row("write, 16 at a time", taken.writeMany, 300);
  row("a bare insert and commit of the same size", taken.bare);
}
