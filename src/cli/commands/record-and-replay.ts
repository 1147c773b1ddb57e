import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { countOf } from "../../core/results/count-of.ts";
import type { JudgeRequest } from "../../contracts/policy.ts";
import type { Fixture, FixtureCall, FixtureReport, ReplayMode } from "../../gate/permit/history/fixture.ts";
import type { ReplayReport } from "../../gate/record-and-replay.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { type Output, safeLine } from "../output.ts";
import { confirm, withYes } from "../prompts.ts";
import { isInteractive } from "../terminal.ts";

export const record = defineCommand({
  examples: [
    ["haft record session.jsonl", "serve, and write every call to the file"],
    ["haft record session.jsonl -- tools call read path=README.md", "the calls of one command"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  options: {
    redact: { type: "flag", about: "Hide what looks like a secret" },
    overwrite: { type: "flag", about: "Replace an existing recording" },
  },
  takesRest: true,
  notes: ["`haft replay FILE` answers calls from it. The file contains inputs and results: protect it accordingly."],
  async run({ operands: [file = ""], rest, options: { redact, overwrite }, folder, url, terminal, output, run }) {
    if (url !== undefined)
      throw new UsageError("Calls of another server cannot be recorded here.", "Start that one with `haft record`.");
    const { createRecorder } = await import("../../gate/record-and-replay.ts");
    const path = resolve(terminal.cwd, file);
    const recorder = createRecorder(path, { redact, overwrite });
    let exitCode: number;
    try {
      exitCode = await run(["--folder", folder, ...commandOf(rest)], {
        middleware: recorder.middleware,
        onEvent: (event) => recorder.onEvent(event),
      });
    } finally {
      recorder.close();
    }
    output.info(`Recorded ${countOf(recorder.calls, "call", "calls")} in ${path}`);
    return exitCode;
  },
});

const exportSession = defineCommand({
  examples: [
    ["haft record export SESSION", "show the calls of a session, and write them to SESSION.fixture.json"],
    ["haft record export SESSION --output test/refund.json --yes", "in a script: write without the question"],
  ],
  operands: [{ name: "SESSION" }],
  options: {
    output: { type: "text", value: "FILE", about: "Default: SESSION.fixture.json", completes: "file" },
    yes: { type: "flag", about: "Write it without showing it first" },
    overwrite: { type: "flag", about: "Replace an existing file" },
  },
  notes: [
    "Has the inputs, what was decided, the effects, and how each call ended, as the audit log has them: masked, long texts cut.",
    "Results can be private: read it before you share it. `haft replay FILE` tests a policy or tools with it.",
  ],
  uses: ["audit"],
  async run({ argv, connect, operands: [session = ""], options, terminal, output, interrupted }) {
    const { yes, overwrite } = options;
    const file = options.output ?? `${session.replaceAll(/[^\w.-]+/g, "_").slice(0, 100)}.fixture.json`;
    const { fixtureOf } = await import("../../gate/permit/history/fixture.ts");
    const path = resolve(terminal.cwd, file);
    const isThere = new UsageError(`${file} exists.`, "Give --overwrite, or another --output FILE.");
    if (!overwrite && existsSync(path)) throw isThere;
    const client = await connect({ connectsMcp: false });
    const entries = [];
    for await (const entry of client.audit.export({ session })) entries.push(entry);
    // Of a filter, the newest come first.
    entries.sort((one, other) => Number(one.id) - Number(other.id));
    const fixture = fixtureOf(session, entries);
    if (fixture.calls.length === 0)
      throw new UsageError(`No call of a session "${session}" is recorded.`, "`haft audit query` shows the sessions.");
    const text = `${JSON.stringify(fixture, undefined, 2)}\n`;
    if (!yes) {
      output.lines(text.split("\n").map(safeLine));
      const count = countOf(fixture.calls.length, "call");
      if (!isInteractive(terminal)) {
        output.notice(`Nothing was written. Read the ${count}, then run \`${withYes(argv)}\`.`);
        return EXIT.pending;
      }
      const question = `Results can be private. Write ${count} to ${safeLine(file)}?`;
      if (!(await confirm(question, { terminal, signal: interrupted }))) return EXIT.pending;
    }
    // Always a new file: one that is there may be a link, or readable by others.
    const written = overwrite ? `${path}.${process.pid}.tmp` : path;
    try {
      writeFileSync(written, text, { flag: "wx", mode: 0o600 });
      if (overwrite) renameSync(written, path);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EEXIST";
      if (overwrite && !isTaken) rmSync(written, { force: true });
      throw isTaken && !overwrite ? isThere : error;
    }
    const cut = fixture.calls.filter(({ isWhole }) => !isWhole).length;
    const about = cut > 0 ? ` Of ${countOf(cut, "call")} a part of the input is hidden or cut.` : "";
    output.info(`Wrote ${countOf(fixture.calls.length, "call")} to ${safeLine(file)}.${about}`);
    return EXIT.done;
  },
});

export const commands = { export: exportSession };

export const replay = defineCommand({
  examples: [
    ["haft replay session.jsonl", "serve, with answers from the recording"],
    ["haft replay session.jsonl -- tools call read path=README.md", "one command; nothing is really read"],
    ["haft replay session.jsonl --strict -- tools call …", "each recorded call once, in its order"],
    [
      "haft replay refund.json --policy new.yml",
      "in CI: exits with 1 if the policy decides a call of the session otherwise",
    ],
    ["haft replay refund.json --run read,grep", "run the calls of these tools, and compare the results"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  options: {
    strict: {
      type: "flag",
      about: "Each recorded call answers once and in order; of a session: exit with 1 also for what cannot be checked",
    },
    "recorded-pace": { type: "flag", about: "Take as long as the recorded calls" },
    policy: {
      type: "text",
      value: "FILE",
      about: "Of a session: judge by this policy, not the active one",
      completes: "file",
    },
    run: { type: "list", value: "TOOLS", about: "Of a session: run the calls of these tools. Default: none runs" },
    error: { type: "list", value: "TOOLS", about: "Of a session: exit with 1 if it has a call of one of these tools" },
  },
  takesRest: true,
  notes: [
    "The policy still applies. A call that was not recorded fails and never runs.",
    "A file of `haft record export` is a session: its calls are judged again, and run only as you say and if the policy allows them.",
  ],
  uses: ["policy", "calls"],
  async run(invocation) {
    const {
      operands: [file = ""],
      rest,
      options,
      folder,
      url,
      terminal,
      output,
      run,
    } = invocation;
    if (isFixture(resolve(terminal.cwd, file))) return replaySession(invocation, file, options);
    if (options.policy !== undefined || options.run.length > 0 || options.error.length > 0)
      throw new UsageError(
        `${file} is no file of haft record export.`,
        "Its calls cannot be judged: it has no verdicts.",
      );
    if (url !== undefined)
      throw new UsageError("Another server cannot be replayed here.", "Start that one with `haft replay`.");
    const { strict, "recorded-pace": recordedPace } = options;
    const path = resolve(terminal.cwd, file);
    if (!existsSync(path)) throw new UsageError(`There is no recording ${path}.`, "`haft record FILE` writes one.");
    const { createReplay } = await import("../../gate/record-and-replay.ts");
    const recording = createReplay(path, {
      strict,
      pace: recordedPace ? "recorded" : "at_once",
    });
    const exitCode = await run(["--folder", folder, ...commandOf(rest)], { middleware: recording.middleware });
    const report = recording.report();
    for (const line of describeReport(report)) output.info(line);
    const differs = report.differing.length > 0 || (strict && report.unused.length > 0);
    return exitCode === EXIT.done && differs ? EXIT.failed : exitCode;
  },
});

/** By its beginning. A recording has a header of its own. */
function isFixture(path: string): boolean {
  try {
    return /^\s*\{\s*"format"\s*:\s*"haft-fixture"/.test(readFileSync(path, "utf8").slice(0, 200));
  } catch {
    // Whoever reads the recording says so.
    return false;
  }
}

interface SessionOptions {
  strict: boolean;
  "recorded-pace": boolean;
  policy: string | undefined;
  run: readonly string[];
  error: readonly string[];
}

async function replaySession(
  {
    connect,
    terminal,
    output,
    rest,
  }: Pick<Invocation<never, "policy" | "calls">, "connect" | "terminal" | "output" | "rest">,
  file: string,
  { strict, "recorded-pace": recordedPace, policy, run, error }: SessionOptions,
): Promise<number> {
  if (rest.length > 0)
    throw new UsageError(`${file} is a session, and answers no command.`, "Leave out what follows --.");
  if (recordedPace) throw new UsageError("--recorded-pace is for recordings.", "Leave it out.");
  const both = run.find((name) => error.includes(name));
  if (both !== undefined) throw new UsageError(`"${both}" is in --run and in --error.`, "Name it in one of them.");
  const [{ parseFixture, replayCalls }, { readPolicyFile }] = await Promise.all([
    import("../../gate/permit/history/fixture.ts"),
    import("./policy.ts"),
  ]);
  let fixture: Fixture;
  try {
    fixture = parseFixture(readFileSync(resolve(terminal.cwd, file), "utf8"), file);
  } catch (thrown) {
    throw new UsageError((thrown as Error).message);
  }
  const read = policy === undefined ? undefined : await readPolicyFile(policy, terminal.cwd);
  if (policy !== undefined && !read) throw new UsageError(`There is no file ${policy}.`);
  const used = new Set(fixture.calls.map(({ tool }) => tool));
  const unused = [...run, ...error].filter((name) => !used.has(name));
  if (unused.length > 0) output.warn(`The session has no call of ${unused.map(safeLine).join(", ")}.`);
  const client = await connect({ connectsMcp: [...used].some((name) => name.startsWith("mcp__")) });
  const modeOf = (tool: string): ReplayMode =>
    run.includes(tool) ? "run" : error.includes(tool) ? "error" : "history";
  // The API takes effects by any name, and says what it does not take.
  const given = ({ tool, input, isWhole, digest }: FixtureCall): JudgeRequest["calls"][number] => {
    return { tool, input, isWhole, digest: digest as JudgeRequest["calls"][number]["digest"] };
  };
  const session = `replay:${fixture.session}`.slice(0, 200);
  const report = await replayCalls(fixture, {
    modeOf,
    judge: async (calls) => (await client.policy.judge({ calls: calls.map(given), policy: read?.policy })).items,
    run: ({ tool, input }) => client.calls.execute({ tool, input, mode: "dontAsk", session }),
  });
  output.data(report, () => describeSession(report, output));
  const unchecked = Object.values(report.unchecked).reduce((sum, count) => sum + count, 0);
  const isEmpty = report.judged === 0 && report.ran === 0 && report.differences.length === 0;
  if (isEmpty) output.notice("No call could be compared.");
  return report.differences.length > 0 || isEmpty || (strict && unchecked > 0) ? EXIT.failed : EXIT.done;
}

function describeSession(report: FixtureReport, { paint }: Output): string[] {
  const { calls, judged, ran, differences, unchecked, changedTools } = report;
  return [
    `${countOf(calls, "call")}: ${judged} judged, ${ran} run, ${countOf(differences.length, "difference")}.`,
    ...differences.map(
      ({ callId, tool, what, text }) =>
        `${paint("red", what)}  ${safeLine(tool)}: ${safeLine(text)}${paint("dim", `  ${safeLine(callId)}`)}`,
    ),
    ...Object.entries(unchecked).map(([why, count]) =>
      paint("yellow", `not checked: ${countOf(count, "call")}: ${why}`),
    ),
    ...changedTools.map((tool) => `The definition of ${safeLine(tool)} has changed since the session.`),
  ];
}

function commandOf(rest: readonly string[]): readonly string[] {
  return rest.length === 0 ? ["serve"] : rest;
}

function describeReport({ used, unused, differing, outOfOrder, changedTools, isTorn }: ReplayReport): string[] {
  return [
    `${countOf(used.length, "call was", "calls were")} answered from the recording; ${countOf(unused.length, "recorded call was", "recorded calls were")} not used.`,
    ...differing.map(({ tool, why }) => `differs: ${safeLine(tool)}: ${safeLine(why)}`),
    ...(outOfOrder.length > 0 ? [`${outOfOrder.length} came in another order.`] : []),
    ...changedTools.map((tool) => `The definition of ${safeLine(tool)} has changed since the recording.`),
    ...(isTorn ? ["The recording ends in the middle of a line."] : []),
  ];
}
