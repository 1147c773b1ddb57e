// What happens in one round of the harness, derived from its seed.

export const ASKERS = [
  "library that waits",
  "library that leaves",
  "command line",
  "MCP that holds",
  "MCP that leaves",
  "MCP with a form",
  "HTTP",
  "program",
  "job",
  "session",
] as const;
export type AskerName = (typeof ASKERS)[number];

/** Those whose callers wait for the answer. */
const WAITING: readonly AskerName[] = ["library that waits", "MCP that holds"];

export const ANSWERERS = ["library", "HTTP", "command line"] as const;
export type AnswererName = (typeof ANSWERERS)[number] | "MCP";

/** An MCP client can only answer the question of its own call. It sends the answer to another server than the call. */
const PAIRS: readonly [AskerName, AnswererName][] = [
  ...ANSWERERS.flatMap((by) => ASKERS.map((asker): [AskerName, AnswererName] => [asker, by])),
  ["MCP with a form", "MCP"],
];

export const ENGINES = ["SQLite", "PostgreSQL"] as const;
export type Engine = (typeof ENGINES)[number];

/** Where a process that runs the call may be killed. */
const RUN_POINTS = ["before claim", "after claim", "before effect", "after effect", "before end", "after end"] as const;
const ANSWER_POINTS = ["before answer", "after answer"] as const;

export interface AnswerPlan {
  by: AnswererName;
  approves: boolean;
  /** After the question was seen. */
  delayMs: number;
}

export interface KillPlan {
  /** `owner`: the process that runs the call. Other rounds may use it too. */
  who: "asker" | "answerer" | "owner";
  /** A named point, or the time after the question was seen. */
  at: string | number;
}

export interface Schedule {
  seed: number;
  engine: Engine;
  asker: AskerName;
  /** The first one may be killed. */
  answers: [AnswerPlan, ...AnswerPlan[]];
  effectMs: number;
  kill?: KillPlan;
  /** What the preview shows changes before the answer. */
  changes: boolean;
  /** The command line uses the running server of the workspace. */
  usesServer: boolean;
  /** The asker asks again with the same call id at the end. */
  repeats: boolean;
}

export function scheduleOf(seed: number): Schedule {
  const random = randomOf(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const isLikely = (share: number): boolean => random() < share;
  const delay = (max: number): number => Math.floor(random() * max);
  // Each pair comes once in 31 seeds, and with both engines in 62.
  const engine = ENGINES[seed % ENGINES.length]!;
  const [asker, by] = PAIRS[seed % PAIRS.length]!;
  const first: AnswerPlan = { by, approves: isLikely(0.85), delayMs: delay(120) };
  const answers: Schedule["answers"] = [first];
  if (isLikely(0.25)) answers.push({ by: pick(ANSWERERS), approves: isLikely(0.6), delayMs: delay(200) });
  const schedule: Schedule = {
    seed,
    engine,
    asker,
    answers,
    effectMs: isLikely(0.5) ? 0 : delay(300),
    changes: isLikely(0.12),
    usesServer: isLikely(0.75),
    repeats: isLikely(0.25),
  };
  if (isLikely(0.33)) {
    const who = pick(["asker", "answerer", "owner"] as const);
    if (who === "owner") return { ...schedule, kill: { who, at: pick(["before effect", "after effect"]) } };
    // The process that waits runs an approved call, otherwise the one that answers.
    const runs = first.approves && WAITING.includes(asker) === (who === "asker") ? RUN_POINTS : [];
    const points = [...(who === "asker" ? ["asked"] : ANSWER_POINTS), ...runs];
    schedule.kill = { who, at: isLikely(0.8) ? pick(points) : delay(400) };
    // A command that uses a server does none of this in its own process.
    if ((who === "asker" ? asker : by) === "command line") schedule.usesServer = false;
  }
  return schedule;
}

/** Mulberry32: the same numbers for the same seed, on every machine. */
export function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function describeSchedule({ seed, engine, asker, answers, kill, ...more }: Schedule): string {
  const by = answers.map(
    ({ by: name, approves, delayMs }) => `${name} ${approves ? "approves" : "denies"} after ${delayMs} ms`,
  );
  const killed = kill ? `, kill of the ${kill.who} at ${kill.at}` : "";
  return `seed ${seed}: ${engine}, ${asker}, ${by.join(", ")}${killed}, ${JSON.stringify(more)}`;
}
