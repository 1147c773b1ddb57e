import type { ScheduleInfo, ScheduleRun } from "../../contracts/schedules.ts";
import { ToolError } from "../../core/error.ts";
import { type ScheduleTiming, showMissed } from "../../core/schedule.ts";
import { readTiming, showTarget, showTiming } from "../../tools/schedules/schedule-text.ts";
import { isForPerson } from "../../core/result.ts";
import { UsageError } from "../arguments.ts";
import { readCallInput } from "../call-input.ts";
import { callPolicy, defineCommand, MODE_OPTION } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { pause as wait, showDuration, showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine, type Style } from "../output.ts";

const CHECK_INTERVAL_MS = 200;

const list = defineCommand({
  examples: [["haft schedules list", "what runs later, and when next"]],
  uses: ["schedules"],
  async run({ connect, output }) {
    const page = await (await connect({ only: ["schedules"] })).schedules.list();
    output.list(page, (schedules) => showSchedules(schedules, output));
    if (page.items.length === 0) output.info("No schedules. `haft schedules add` creates one.");
    else if (!page.status.isRunning)
      output.info("No process runs them at the moment: start `haft serve` or `haft worker`.");
  },
});

const add = defineCommand({
  examples: [
    ["haft schedules add --cron '30 8 * * 1-5' exec command='git fetch'", "every working day at half past eight"],
    ["haft schedules add --every 15m http_get url=https://example.com", "every 15 minutes"],
    ["haft schedules add --at 20m --name tea exec command='echo tea'", "once, in twenty minutes"],
  ],
  operands: [
    { name: "TOOL", completes: "tool" },
    { name: "ARGUMENT", isOptional: true, isRest: true },
  ],
  options: {
    cron: { type: "text", value: "EXPRESSION", about: "Minute, hour, day, month, weekday" },
    zone: { type: "text", value: "ZONE", about: "Time zone, like Europe/Berlin; default: this machine's" },
    every: { type: "text", value: "TIME", about: "30s, 5m, 2h, 1d" },
    at: { type: "text", value: "TIME", about: "2026-11-16T08:30:00Z, or 20m from now" },
    name: { type: "text", value: "NAME", about: "Name shown in lists" },
    mode: MODE_OPTION,
    allow: { type: "list", value: "TOOLS", about: "Only these tools" },
    deny: { type: "list", value: "TOOLS", about: "None of these tools" },
    "skip-missed": { type: "flag", about: "Skip runs that were missed while no process was running" },
    paused: { type: "flag", about: "Create it paused; `haft schedules resume` activates it" },
  },
  notes: [
    "Each run goes through the gate with your permissions. Calls that need approval wait in `haft approvals list`.",
    "Schedules need a running `haft serve` or `haft worker`; `haft schedules runs` lists missed runs.",
  ],
  uses: ["schedules"],
  async run({ connect, terminal, output, operands: [toolName = "", ...words], options }) {
    const { cron, zone, every, at, name, mode, allow, deny, paused } = options;
    const timing = await timingOf({ cron, every, at, timeZone: zone });
    const input = await readCallInput(words, terminal);
    const client = await connect({ connectsMcp: toolName.startsWith("mcp__") });
    const added = await client.schedules.create({
      timing,
      target: { type: "call", toolName, input },
      missed: options["skip-missed"] ? "skip" : "run_once",
      isPaused: paused,
      name,
      mode,
      policy: callPolicy(allow, deny),
    });
    output.data(added, (schedule) => showSchedules([schedule], output));
    if (added.upcoming.length > 0) output.info(`Next: ${added.upcoming.map((at) => showTime(at)).join(", ")}`);
    const { status } = await client.schedules.list();
    if (!status.isRunning) output.info("No process runs schedules at the moment: start `haft serve` or `haft worker`.");
  },
});

const remove = defineCommand({
  examples: [["haft schedules remove sch_1", "also deletes its list of runs"]],
  operands: [{ name: "ID", listedBy: "haft schedules list" }],
  uses: ["schedules"],
  async run({ connect, output, operands: [id = ""] }) {
    const { name } = await (await connect({ only: ["schedules"] })).schedules.remove(id);
    output.info(`${id} (${safeLine(name)}) is removed.`);
  },
});

const pause = defineCommand({
  examples: [["haft schedules pause sch_1", "it does not run until it is resumed"]],
  operands: [{ name: "ID", listedBy: "haft schedules list" }],
  uses: ["schedules"],
  async run({ connect, output, operands: [id = ""] }) {
    const paused = await (await connect({ only: ["schedules"] })).schedules.pause(id, { isPaused: true });
    output.data(paused, (schedule) => showSchedules([schedule], output));
  },
});

const resume = defineCommand({
  examples: [["haft schedules resume sch_1", "continue with the next run; missed runs are skipped"]],
  operands: [{ name: "ID", listedBy: "haft schedules list" }],
  uses: ["schedules"],
  async run({ connect, output, operands: [id = ""] }) {
    const resumed = await (await connect({ only: ["schedules"] })).schedules.pause(id, { isPaused: false });
    output.data(resumed, (schedule) => showSchedules([schedule], output));
  },
});

const run = defineCommand({
  examples: [["haft schedules run sch_1", "run it now with its own permissions, and wait for the result"]],
  operands: [{ name: "ID", listedBy: "haft schedules list" }],
  uses: ["schedules"],
  async run({ connect, output, interrupted, operands: [id = ""] }) {
    const client = await connect();
    let latest: ScheduleRun = await client.schedules.run(id);
    while (latest.state === "running" && !interrupted.aborted) {
      await wait(CHECK_INTERVAL_MS, interrupted);
      const { items } = await client.schedules.runs(id, { limit: 1, before: latest.number + 1 });
      latest = items[0] ?? latest;
    }
    output.data(latest, (ended) => showRuns([ended], output));
    if (interrupted.aborted) return EXIT.interrupted;
    if (latest.pending && isForPerson(latest.pending)) output.info("It waits for a person: haft approvals list");
    if (latest.state === "waiting") return EXIT.pending;
    return ["failed", "denied", "unknown"].includes(latest.state) ? EXIT.toolFailed : EXIT.done;
  },
});

const runs = defineCommand({
  examples: [["haft schedules runs sch_1", "outcomes and missed runs"]],
  operands: [{ name: "ID", listedBy: "haft schedules list" }],
  options: {
    limit: { type: "number", short: "n", value: "N", range: [1, 100], about: "Max number of runs; default: 20" },
  },
  uses: ["schedules"],
  async run({ connect, output, operands: [id = ""], options: { limit = 20 } }) {
    const page = await (await connect({ only: ["schedules"] })).schedules.runs(id, { limit });
    output.list(page, (items) => showRuns(items, output));
    if (page.items.length === 0) output.info("It has not run yet.");
  },
});

export const commands = { list, add, remove, pause, resume, run, runs };

/** A time that can never come is a mistake in the command line. */
async function timingOf(given: Parameters<typeof readTiming>[0]): Promise<ScheduleTiming> {
  const now = Date.now();
  try {
    const timing = readTiming(given, now);
    if (!timing) throw new UsageError("When?", "Use --cron, --every or --at.");
    const { checkTiming } = await import("../../jobs/schedule-times.ts");
    checkTiming(timing, now);
    return timing;
  } catch (error) {
    throw error instanceof ToolError ? new UsageError(`${error.summary}.`, error.next) : error;
  }
}

function showSchedules(schedules: readonly ScheduleInfo[], { paint, columns }: Output): string[] {
  return showColumns(
    schedules.map(({ id, name, timing, target, isPaused, nextAt, lastRun }) => [
      id,
      safeLine(name),
      safeLine(showTiming(timing)),
      isPaused ? "paused" : nextAt === undefined ? "ended" : showTime(nextAt),
      lastRun?.state ?? "",
      safeLine(showTarget(target)),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 4 ? RUN_STYLES[cell] : undefined) },
  );
}

function showRuns(items: readonly ScheduleRun[], { paint, columns }: Output): string[] {
  return showColumns(
    items.map(({ number, dueAt, startedAt, endedAt, state, missed, trigger, by, errorCode, outcome }) => [
      `${number}`,
      showTime(dueAt),
      state,
      startedAt === undefined || endedAt === undefined ? "" : showDuration(endedAt - startedAt),
      [
        missed > 0 ? `${showMissed(missed)} missed` : "",
        trigger === "request" ? `requested by ${by ?? "unknown"}` : "",
        errorCode ?? "",
        outcome ?? "",
      ]
        .filter(Boolean)
        .map(safeLine)
        .join("; "),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 2 ? RUN_STYLES[cell] : undefined) },
  );
}

const RUN_STYLES: Readonly<Record<string, Style>> = {
  running: "cyan",
  waiting: "yellow",
  completed: "green",
  failed: "red",
  denied: "yellow",
  unknown: "yellow",
  missed: "yellow",
  skipped: "dim",
};
