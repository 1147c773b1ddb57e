// Background calls on the embedded store, through the whole gate, beside a bare table queue in the same database.
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
  report({
    case: "no-op jobs, submitted, run and acknowledged, wall",
    value: median(of("haft", "perSecond")),
    unit: "jobs/s",
  });
  report({
    case: "a bare table queue: insert, claim, delete, wall",
    value: median(of("bare", "perSecond")),
    unit: "jobs/s",
  });
  report({
    case: "no-op jobs, of a bare table queue's throughput",
    value: medianRatio(of("haft", "perSecond"), of("bare", "perSecond")),
    unit: "×",
    atLeast: 0.7,
  });
  report({ case: "1,000 submissions at once, wall", value: median(of("submit", "ms")), unit: "ms" });
  report({
    case: "1,000 submissions at once, of 1,000 bare inserts",
    value: medianRatio(of("submit", "ms"), of("insert", "ms")),
    unit: "×",
    atMost: 2,
  });
  report({
    case: "one job from call to result, p50, wall",
    value: median(of("latency", "p50")),
    unit: "ms",
    atMost: 5,
  });
}
