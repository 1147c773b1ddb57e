// Background calls on the embedded store, through the whole gate, beside a bare table with one audit entry per job in the same database.
import { interleave, median, medianRatio, runChild } from "../harness.mjs";

export const name = "jobs";

const ROUNDS = 3;

export async function run({ report }) {
  const subject = (what) => () => runChild("time-jobs.mjs", [what]);
  const taken = await interleave(
    {
      haft: subject("haft"),
      bare: subject("bare"),
      submit: subject("submit"),
      insert: subject("insert"),
      latency: subject("latency"),
    },
    ROUNDS,
  );
  const of = (subjectName, field) => taken[subjectName].map((round) => round[field]);
  const rate = (title, subjectName) =>
    report({ case: `${title}, wall`, value: median(of(subjectName, "perSecond")), unit: "jobs/s" });
  rate("no-op jobs, submitted, run and acknowledged", "haft");
  rate("a bare table: insert, claim, result with one audit entry", "bare");
  report({
    case: "no-op jobs, of a bare table's throughput",
    value: medianRatio(of("haft", "perCpuSecond"), of("bare", "perCpuSecond")),
    unit: "×",
    atLeast: 0.5,
  });
  report({
    case: "the same, wall",
    value: medianRatio(of("haft", "perSecond"), of("bare", "perSecond")),
    unit: "×",
  });
  report({ case: "1,000 submissions at once, wall", value: median(of("submit", "ms")), unit: "ms" });
  report({
    case: "1,000 submissions at once, of 1,000 bare inserts with one audit entry",
    value: medianRatio(of("submit", "cpuMs"), of("insert", "cpuMs")),
    unit: "×",
    atMost: 2,
  });
  report({
    case: "the same, wall",
    value: medianRatio(of("submit", "ms"), of("insert", "ms")),
    unit: "×",
  });
  report({
    case: "one job from call to result, p50, wall",
    value: median(of("latency", "p50")),
    unit: "ms",
    atMost: 5,
  });
}
