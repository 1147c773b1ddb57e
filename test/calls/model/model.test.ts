// The protocol of the `calls` table, checked in all schedules of small configurations. Without any one of its conditions
// some schedule goes wrong, and the model finds it. HAFT_FULL=1 adds the larger configurations, and the conditions that
// only choose who runs a call.
import process from "node:process";
import { describe, expect, test } from "vitest";
import { type ChargeCondition, ChargedCalls, type ChargesConfiguration } from "./charges.ts";
import { EarlierDesign, type EarlierConfiguration } from "./earlier-design.ts";
import { explore } from "./explore.ts";
import { CallProtocol, type Configuration } from "./protocol.ts";
import type { Condition } from "./statements.ts";
import { SuspendedProgram, type SuspensionCondition } from "./suspension.ts";

const FULL = process.env["HAFT_FULL"] === "1";
/** Up to a million states. */
const LONG = { timeout: 15 * 60_000 };

interface Case extends Configuration {
  /** Some of the ways in which its schedules can end: the rows of the call id, in order. */
  ends: readonly string[];
  /** Ways in which none may end. */
  neverEnds?: readonly string[];
}

const SMALL = {
  "one answerer": {
    permission: "ask",
    ends: ["completed by asker", "completed by answerer 1", "completed by host", "denied", "expired"],
  },
  "two answerers": { permission: "ask", answerers: 2, ends: ["completed by answerer 2", "denied", "expired"] },
  "a kill and a change": {
    permission: "ask",
    faults: { kills: 1, changes: 1 },
    ends: ["unknown", "changed", "changed, completed by asker", "changed, completed by host", "changed, unknown"],
  },
  "two answerers, a lost lease and a change": {
    permission: "ask",
    answerers: 2,
    faults: { lostLeases: 1, changes: 1 },
    ends: ["changed", "changed, denied", "changed, expired", "changed, completed by answerer 2"],
    // A process that was wrongly taken for dead still reports what happened.
    neverEnds: ["unknown", "changed, unknown"],
  },
  "a kill, a lost lease and a cancel": {
    permission: "ask",
    faults: { kills: 1, lostLeases: 1, cancels: 1 },
    ends: ["cancelled", "unknown", "completed by host"],
  },
  "a duplicate and a cancel": {
    permission: "ask",
    hasDuplicate: true,
    faults: { cancels: 1 },
    ends: [
      "completed by duplicate",
      "cancelled, completed by duplicate",
      "expired, completed by asker",
      "expired, denied",
    ],
  },
  "a duplicate and a kill": {
    permission: "ask",
    hasDuplicate: true,
    faults: { kills: 1 },
    ends: ["completed by duplicate", "unknown", "expired, unknown"],
  },
  "a duplicate and a change, and answerers without the tool": {
    permission: "ask",
    hasDuplicate: true,
    answerersCannotRun: true,
    faults: { changes: 1 },
    ends: ["changed, completed by duplicate", "changed, completed by asker", "changed, expired, changed, expired"],
  },
  "only the asker has the tool": {
    permission: "ask",
    answerersCannotRun: true,
    hostsCannotRun: true,
    faults: { kills: 1, changes: 1 },
    ends: ["completed by asker", "expired", "changed, expired", "unknown"],
  },
  "a repeatable call, a kill, a change and a cancel": {
    permission: "ask",
    isRepeatable: true,
    faults: { kills: 1, changes: 1, cancels: 1 },
    ends: ["completed by host", "cancelled", "unknown", "changed, completed by host"],
  },
  "a process that ends and a kill": {
    permission: "ask",
    faults: { shutdowns: 1, kills: 1 },
    ends: ["completed by host", "completed by answerer 1", "denied", "unknown"],
  },
  "a repeatable call, a process that ends and a lost lease": {
    permission: "ask",
    isRepeatable: true,
    answerers: 2,
    faults: { shutdowns: 1, lostLeases: 1 },
    ends: ["completed by host", "denied"],
  },
  "an allowed call with a duplicate": {
    permission: "allow",
    hasDuplicate: true,
    faults: { kills: 1, lostLeases: 1, cancels: 1, failures: 1 },
    ends: ["completed by asker", "completed by duplicate", "failed", "unknown", "cancelled, completed by duplicate"],
  },
  "an allowed and repeatable call with a duplicate": {
    permission: "allow",
    hasDuplicate: true,
    isRepeatable: true,
    faults: { kills: 1, lostLeases: 1, cancels: 1, failures: 1 },
    ends: ["completed by duplicate", "failed", "unknown", "cancelled"],
  },
  "a background call with a duplicate": {
    permission: "background",
    hasDuplicate: true,
    hasMortalHost: true,
    faults: { kills: 1, lostLeases: 1, cancels: 1 },
    ends: ["completed by host", "completed by mortal host", "unknown", "cancelled, completed by host"],
  },
  "a repeatable background call": {
    permission: "background",
    isRepeatable: true,
    hasMortalHost: true,
    faults: { kills: 1, lostLeases: 1, cancels: 1 },
    ends: ["completed by host", "completed by mortal host", "unknown", "cancelled"],
  },
  "a repeatable job, a retry, a worker that ends and a cancel": {
    permission: "background",
    isRepeatable: true,
    hasMortalHost: true,
    faults: { retries: 1, shutdowns: 1, lostLeases: 1, cancels: 1 },
    ends: ["completed by host", "completed by mortal host", "unknown", "cancelled"],
  },
  "an approved call that becomes a job": {
    permission: "ask",
    becomesJob: true,
    isRepeatable: true,
    faults: { lostLeases: 1, cancels: 1 },
    ends: ["completed by host", "denied", "expired", "cancelled", "unknown"],
  },
} satisfies Record<string, Case>;

const LARGE = {
  "two answerers, two kills and a change": { permission: "ask", answerers: 2, faults: { kills: 2, changes: 1 } },
  "two answerers, a kill, a lost lease and a cancel": {
    permission: "ask",
    answerers: 2,
    faults: { kills: 1, lostLeases: 1, cancels: 1 },
  },
  "two answerers without the tool, two kills, a change and a cancel": {
    permission: "ask",
    answerers: 2,
    answerersCannotRun: true,
    faults: { kills: 2, changes: 1, cancels: 1 },
  },
  "a second host, two kills, a lost lease and a change": {
    permission: "ask",
    hasMortalHost: true,
    faults: { kills: 2, lostLeases: 1, changes: 1 },
  },
  "a duplicate, two kills, a change and a cancel": {
    permission: "ask",
    hasDuplicate: true,
    faults: { kills: 2, changes: 1, cancels: 1 },
  },
  "a duplicate, a lost lease, a change and a cancel": {
    permission: "ask",
    hasDuplicate: true,
    faults: { lostLeases: 1, changes: 1, cancels: 1 },
  },
  "a duplicate, two answerers, a kill and a cancel": {
    permission: "ask",
    hasDuplicate: true,
    answerers: 2,
    faults: { kills: 1, cancels: 1 },
  },
  "a duplicate, two answerers without the tool, a change": {
    permission: "ask",
    hasDuplicate: true,
    answerers: 2,
    answerersCannotRun: true,
    faults: { changes: 1 },
  },
  "a repeatable call, a second host, a kill, a change and a cancel": {
    permission: "ask",
    isRepeatable: true,
    hasMortalHost: true,
    faults: { kills: 1, changes: 1, cancels: 1 },
  },
  "a repeatable call, a duplicate, a kill and a change": {
    permission: "ask",
    hasDuplicate: true,
    isRepeatable: true,
    faults: { kills: 1, changes: 1 },
  },
  "a repeatable call, a duplicate, answerers without the tool, a lost lease and a change": {
    permission: "ask",
    hasDuplicate: true,
    isRepeatable: true,
    answerersCannotRun: true,
    faults: { lostLeases: 1, changes: 1 },
  },
  "a background call, a duplicate, two kills, a lost lease, a cancel and a failure": {
    permission: "background",
    hasDuplicate: true,
    hasMortalHost: true,
    faults: { kills: 2, lostLeases: 1, cancels: 1, failures: 1 },
  },
  "the same, repeatable": {
    permission: "background",
    hasDuplicate: true,
    isRepeatable: true,
    hasMortalHost: true,
    faults: { kills: 2, lostLeases: 1, cancels: 1, failures: 1 },
  },
} satisfies Record<string, Configuration>;

/** They choose who runs the call, and whether its caller gets the result or `pending`. No promise depends on them. */
const PREFERENCES = [
  "may claim: holder",
  "release: state",
  "hold: state",
  "take: nobody has it",
  "claim: the worker that took it",
  "claim: no request to stop it",
  "lose taken: holder",
  "cancel: nobody has the job",
] as const satisfies Condition[];
/** Either of the two is enough. The product checks both. */
const REDUNDANT = ["end: owner and epoch", "end: state"] as const satisfies Condition[];

type Needed = Exclude<Condition, (typeof PREFERENCES | typeof REDUNDANT)[number]>;

interface Finding {
  in: keyof typeof SMALL | keyof typeof LARGE;
  as: string;
}

/** What goes wrong without each condition. */
const WITHOUT: Record<Needed, Finding> = {
  "ask: the key is free": { in: "an allowed call with a duplicate", as: "runs twice" },
  "approve: by question": { in: "a kill and a change", as: "not what was shown" },
  "approve: state": { in: "one answerer", as: "false report" },
  "approve: deadline": { in: "one answerer", as: "wrong deadline" },
  "deny: state": { in: "two answerers", as: "false report" },
  "claim: by row": { in: "two answerers, a lost lease and a change", as: "not what was shown" },
  "claim: state": { in: "one answerer", as: "runs twice" },
  "claim: deadline": { in: "only the asker has the tool", as: "wrong deadline" },
  "claim: after verification": { in: "a kill and a change", as: "not what was shown" },
  "give back: its own start": { in: "a repeatable call, a process that ends and a lost lease", as: "false report" },
  "enqueue: its own start": { in: "an approved call that becomes a job", as: "false report" },
  "requeue: its own start": { in: "a repeatable job, a retry, a worker that ends and a cancel", as: "false report" },
  "requeue: a start that began counts": {
    in: "a repeatable job, a retry, a worker that ends and a cancel",
    as: "false report",
  },
  "change: state": { in: "a kill and a change", as: "false report" },
  "change: epoch": {
    in: "a repeatable call, a duplicate, answerers without the tool, a lost lease and a change",
    as: "false report",
  },
  "cancel: state": { in: "an allowed call with a duplicate", as: "false report" },
  "expire: state": { in: "only the asker has the tool", as: "false report" },
  "expire: deadline": { in: "one answerer", as: "wrong deadline" },
  "lose: state": { in: "an allowed and repeatable call with a duplicate", as: "false report" },
  "lose: owner": { in: "one answerer", as: "false report" },
  "restart: state": { in: "an allowed and repeatable call with a duplicate", as: "false report" },
  "not run: only at epoch 0": { in: "a repeatable background call", as: "false report" },
  "key: kept after unknown": { in: "an allowed call with a duplicate", as: "runs twice" },
  "key: kept after completed": { in: "an allowed call with a duplicate", as: "runs twice" },
  "key: kept after denied": { in: "a duplicate and a kill", as: "false report" },
  "key: released if it did not happen": { in: "a duplicate and a cancel", as: "never ends as" },
};

/** The first violation, or an end that is not reached any more. */
function findFault(name: Finding["in"], leftOut: readonly Condition[]): string | undefined {
  const configuration: Configuration & { ends?: readonly string[] } = { ...SMALL, ...LARGE }[name];
  const { violations, ends } = explore(new CallProtocol(configuration, leftOut), { stopAtFirst: true });
  const missing = configuration.ends?.find((end) => !ends.has(end));
  return [...violations.keys()][0] ?? (missing === undefined ? undefined : `never ends as "${missing}"`);
}

test("the explorer finds the shortest way to a violation, dead ends and endless loops", () => {
  const edges: Record<string, string[]> = {
    start: ["loop", "end", "long"],
    loop: ["start"],
    long: ["bad"],
    end: ["bad", "stop"],
  };
  const { violations, states, ends } = explore({
    start: { at: "start" },
    steps: ({ at }) => (edges[at] ?? []).map((to) => ({ label: to, to: { at: to }, isFault: to === "end" })),
    violationIn: ({ at }) => (at === "bad" ? "bad" : undefined),
    violationAtEnd: ({ at }) => (at === "stop" ? "stopped" : undefined),
    describeEnd: ({ at }) => at,
  });
  expect(Object.fromEntries(violations)).toEqual({
    bad: ["end", "bad"],
    stopped: ["end", "stop"],
    "stuck: ordinary steps can repeat for ever": [],
  });
  expect(states).toBe(6);
  expect(ends).toEqual(new Set(["stop"]));
});

describe("one row per call", () => {
  test.each(Object.entries<Case>(SMALL))("%s: every schedule ends well", (_, configuration) => {
    const { violations, ends } = explore(new CallProtocol(configuration));
    expect(violations).toEqual(new Map());
    expect(configuration.ends.filter((end) => !ends.has(end))).toEqual([]);
    expect(configuration.neverEnds?.filter((end) => ends.has(end)) ?? []).toEqual([]);
  });

  test.runIf(FULL).each(Object.entries<Configuration>(LARGE))(
    "%s: every schedule ends well",
    LONG,
    (_, configuration) => {
      expect(explore(new CallProtocol(configuration)).violations).toEqual(new Map());
    },
  );

  test("without faults, an approved call completes", () => {
    const { ends } = explore(new CallProtocol(SMALL["two answerers"]));
    const completed = ["asker", "answerer 1", "answerer 2", "host"].map((name) => `completed by ${name}`);
    expect(ends).toEqual(new Set([...completed, "denied", "expired"]));
  });

  test.each(Object.entries(WITHOUT))('without "%s" a schedule goes wrong', (condition, { in: name, as }) => {
    expect(findFault(name, [condition as Condition])).toMatch(new RegExp(`^${as}`));
  });

  test("without both conditions of `end`, two callers get different results", () => {
    expect(findFault("a repeatable background call", REDUNDANT)).toBe(
      "false report: two parties report different results",
    );
  });

  test.runIf(FULL).each([...PREFERENCES, ...REDUNDANT])(
    'without "%s" every schedule still ends well',
    LONG,
    (condition) => {
      for (const [name, configuration] of Object.entries<Configuration>({ ...SMALL, ...LARGE })) {
        const { violations } = explore(new CallProtocol(configuration, [condition]));
        expect(violations, name).toEqual(new Map());
      }
    },
  );
});

describe("a suspended program", () => {
  test("continues in one process, or its outcome is unknown if it was not saved", () => {
    const { violations, ends } = explore(new SuspendedProgram());
    expect(violations).toEqual(new Map());
    expect([...ends].toSorted()).toEqual(["ended", "unknown"]);
  });

  test.each<[SuspensionCondition, string]>([
    ["resume only if suspended", "twice: two processes run the program"],
    ["hosts look again", "stuck: the program stays suspended for ever"],
    ["a lost program is suspended", "lost: the program was saved, and nobody continued it"],
    ["save before suspend", "stuck: the program stays suspended for ever"],
  ])('without "%s": %s', (condition, violation) => {
    expect([...explore(new SuspendedProgram(condition)).violations.keys()]).toContain(violation);
  });
});

const CHARGED = {
  "two calls and one use": {
    calls: ["direct", "direct"],
    maxUses: 1,
    faults: { kills: 1, lostLeases: 1, stops: 1, failures: 1, refunds: 1 },
    ends: [
      "asked, completed: 1 used",
      "asked, unknown: 1 used, 1 unknown",
      "completed, unknown: 1 used",
      "asked, failed: 1 used",
    ],
  },
  "two calls, one use and its end": {
    calls: ["direct", "direct"],
    maxUses: 1,
    faults: { kills: 1, revocations: 1, ends: 1, refunds: 1 },
    ends: ["asked, asked: 0 used", "asked, unknown: 1 used, 1 unknown", "completed, unknown: 1 used"],
  },
  "two calls and a sum for one": {
    calls: ["direct", "direct"],
    maxSum: 1,
    faults: { kills: 1, lostLeases: 1, refunds: 2 },
    ends: ["asked, completed: 1 used", "completed, unknown: 1 used"],
  },
  "a call that is repeated": {
    calls: ["direct"],
    maxUses: 2,
    isRepeatable: true,
    faults: { kills: 2, lostLeases: 1, stops: 1, revocations: 1 },
    ends: ["completed: 1 used", "unknown: 1 used, 1 unknown", "asked: 0 used", "cancelled: 0 used"],
  },
  "two jobs and one use": {
    calls: ["job", "job"],
    maxUses: 1,
    faults: { kills: 1, lostLeases: 1, stops: 1, failures: 1, revocations: 1 },
    ends: ["completed, failed: 1 used", "failed, unknown: 1 used, 1 unknown", "failed, failed: 0 used"],
  },
  "a repeatable job with two workers": {
    calls: ["job"],
    maxUses: 2,
    isRepeatable: true,
    faults: { kills: 1, lostLeases: 1, stops: 1, failures: 1, revocations: 1 },
    ends: ["completed: 1 used", "failed: 0 used"],
  },
} satisfies Record<string, ChargesConfiguration & { ends: readonly string[] }>;

/** What goes wrong without each condition. */
const UNCHARGED: Record<ChargeCondition, [keyof typeof CHARGED, string]> = {
  "charge: not revoked": ["two calls, one use and its end", "a call starts after the end of the grant"],
  "charge: not over": ["two calls, one use and its end", "a call starts after the end of the grant"],
  "charge: uses are left": ["two calls and one use", "more than was allowed"],
  "charge: the amount is left": ["two calls and a sum for one", "more than was allowed"],
  "charge: with the claim": ["two calls and one use", "a call that started is not charged"],
  "charge: once for a row": ["a call that is repeated", "charged twice"],
  "lose: stays charged": ["two calls and one use", "a call that started is not charged"],
  "lose: counted as unknown": ["two calls and one use", "what is unknown is not what is counted as unknown"],
  "end: a late result is known": ["two calls and one use", "what is unknown is not what is counted as unknown"],
  "end: what began stays charged": ["two calls and one use", "a call that started is not charged"],
  "end: what did not begin is given back": ["two calls and one use", "a use is lost"],
  "requeue: what began stays charged": ["a repeatable job with two workers", "a call that started is not charged"],
  "requeue: what did not begin is given back": ["two jobs and one use", "a use is lost"],
  "refund: only of a call that has ended": ["two calls and one use", "a call that started is not charged"],
  "refund: only what the row has": ["two calls and a sum for one", "the counters differ from the rows"],
};

describe("calls that a grant is charged for", () => {
  test.each(Object.entries(CHARGED))("%s: every schedule ends well", (_, { ends: expected, ...configuration }) => {
    const { violations, ends } = explore(new ChargedCalls(configuration));
    expect(violations).toEqual(new Map());
    expect(expected.filter((end) => !ends.has(end))).toEqual([]);
  });

  test.each(Object.entries(UNCHARGED))('without "%s" a schedule goes wrong', (condition, [name, violation]) => {
    const model = new ChargedCalls(CHARGED[name], condition as ChargeCondition);
    expect([...explore(model, { stopAtFirst: true }).violations.keys()]).toContain(violation);
  });
});

describe("the earlier design", () => {
  function violationsOf(configuration: EarlierConfiguration): string[] {
    return [...explore(new EarlierDesign(configuration)).violations.keys()];
  }
  const misreports = [
    'false report: asker says "has not run, a person was asked" after the effect',
    'false report: one fails with "the same call is being made by another process", the other has the result',
    'false report: one fails with "the approval was used: the call was made", the other has the result',
    "false report: a second question is open for a call that was made",
  ];

  test("misreports a call that an MCP server holds", () => {
    expect(violationsOf({ asker: "holds" })).toEqual(misreports);
  });

  test("also loses approvals if a process is killed", () => {
    const found = violationsOf({ asker: "holds", answerers: 2, kills: 1 });
    expect(found.toSorted()).toEqual(
      [
        ...misreports,
        'false report: answerer 1 says "the approval was used: the call was made", and it never was',
        'false report: answerer 2 says "the approval was used: the call was made", and it never was',
        "stuck: an approval that nobody uses",
        "stuck: the approval is used up, and the call was never made",
      ].toSorted(),
    );
  });

  test("ends a question before its deadline if the caller waits", () => {
    const found = violationsOf({ asker: "waits" });
    expect(found).toContain("wrong deadline: it expires long before the deadline that the question shows");
    expect(found).toEqual(expect.arrayContaining(misreports.slice(1, 3)));
  });

  test("drops an approval if the answering process has another PATH", () => {
    const found = violationsOf({ asker: "holds", hasOtherPath: true });
    expect(found).toContain("not what was shown: an approval is void, although nothing that was shown changed");
  });

  test("runs a call that nobody approved if somebody brings a verdict", () => {
    const found = violationsOf({ asker: "holds", hasForgedVerdict: true });
    expect(found).toContain("runs unapproved: the second pass believes a verdict that it is given");
  });
});
