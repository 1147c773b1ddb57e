// Calls a second with everything recorded: audit log and journal in SQLite, beside bare inserts into the same database.
import { interleave, median, runChild } from "../harness.mjs";

export const name = "audit";

const ROUNDS = 3;

export async function run({ report }) {
  const subject = (what, inFlight) => () => runChild("time-audit.mjs", [what, inFlight]);
  const taken = await interleave(
    {
      readOneByOne: subject("readonly", 1),
      readMany: subject("readonly", 100),
      writeOneByOne: subject("write", 1),
      writeMany: subject("write", 100),
      bare: subject("bare", 1),
      sync: subject("sync", 1),
    },
    ROUNDS,
  );
  const rate = (rounds) => median(rounds.map(({ perSecond }) => perSecond));
  const row = (title, rounds, atMost) => {
    const value = median(rounds.map(({ cpuMicroseconds }) => cpuMicroseconds));
    report({ case: title, value, unit: "µs CPU", ...(atMost ? { atMost } : {}) });
    report({ case: `${title}, wall`, value: rate(rounds), unit: "a second" });
  };
  row("read-only, one after the other", taken.readOneByOne, 80);
  row("read-only, 100 at a time", taken.readMany, 80);
  row("write with an id, one after the other, one sync each", taken.writeOneByOne, 350);
  row("write with an id, 100 at a time", taken.writeMany, 120);
  row("a bare insert and commit of the same size", taken.bare);
  row("a bare append of a page and its sync", taken.sync);
}
