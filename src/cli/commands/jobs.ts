import type { JobDetail, JobInfo, JobLogLine, JobState } from "../../contracts/jobs.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { showDuration, showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safe, safeLine, showJson, type Style } from "../output.ts";

const STATE_STYLES: Readonly<Record<JobState, Style>> = {
  delayed: "dim",
  queued: "dim",
  running: "cyan",
  completed: "green",
  failed: "red",
  denied: "yellow",
  cancelled: "yellow",
  unknown: "yellow",
};
const STATES = Object.keys(STATE_STYLES);

const list = defineCommand({
  examples: [
    ["haft jobs list", "background calls, newest first"],
    ["haft jobs list --state failed,cancelled --json", "the unsuccessful ones"],
  ],
  options: {
    state: { type: "list", value: "STATES", about: STATES.join(", ") },
    tool: { type: "text", value: "NAME", about: "Only of this tool" },
    limit: { type: "number", short: "n", value: "N", range: [1, 500], about: "Max number of jobs; default: 50" },
  },
  uses: ["jobs"],
  async run({ connect, output, options: { state, tool, limit } }) {
    const wrong = state.find((word) => !isState(word));
    if (wrong !== undefined) throw new UsageError(`"${wrong}" is not a state.`, `States are: ${STATES.join(", ")}.`);
    const client = await connect({ only: [], runsJobs: false });
    const states = state.filter(isState);
    const page = await client.jobs.list({ state: states.length > 0 ? states : undefined, tool, limit });
    output.list(page, (jobs) => showJobs(jobs, output));
    const counted = Object.entries(page.counts).filter(([, count]) => count > 0);
    output.info(counted.map(([name, count]) => `${count} ${name}`).join(", ") || "No jobs.");
  },
});

function isState(word: string): word is JobState {
  return Object.hasOwn(STATE_STYLES, word);
}

const show = defineCommand({
  examples: [["haft jobs show job_1", "its state, its input and, after it has ended, its result"]],
  operands: [{ name: "ID", listedBy: "haft jobs list" }],
  uses: ["jobs"],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect({ only: [], runsJobs: false })).jobs.get(id), showJob);
  },
});

const logs = defineCommand({
  examples: [
    ["haft jobs logs job_1", "its output so far"],
    ["haft jobs logs job_1 --follow", "and what follows, until it ends"],
  ],
  operands: [{ name: "ID", listedBy: "haft jobs list" }],
  options: { follow: { type: "flag", short: "f", about: "Continue until the job ends; its outcome is the exit code" } },
  notes: ["Shows the output of jobs on other machines too."],
  uses: ["jobs"],
  async run({ connect, output, interrupted, operands: [id = ""], options: { follow } }) {
    const client = await connect({ only: [], runsJobs: false });
    if (!follow) {
      output.list(await client.jobs.log(id), (lines) => lines.flatMap((line) => [...showLogLine(line)]));
      return EXIT.done;
    }
    for await (const frame of client.jobs.watch(id, { signal: interrupted })) {
      if (frame.type === "line") output.item(frame.line, showLogLine);
      else if (frame.job.endedAt !== undefined) {
        output.info(`${frame.job.state}${frame.job.display ? `: ${frame.job.display.split("\n")[0]}` : ""}`);
        return frame.job.state === "completed" ? EXIT.done : EXIT.toolFailed;
      }
    }
    return interrupted.aborted ? EXIT.interrupted : EXIT.failed;
  },
});

const cancel = defineCommand({
  examples: [["haft jobs cancel job_1 --reason 'no longer needed'", "stop it, waiting or running"]],
  operands: [{ name: "ID", listedBy: "haft jobs list" }],
  options: { reason: { type: "text", value: "TEXT", about: "For the caller" } },
  uses: ["jobs"],
  async run({ connect, output, operands: [id = ""], options: { reason } }) {
    const client = await connect({ only: [], runsJobs: false });
    output.data(await client.jobs.cancel(id, { reason }), showJob);
  },
});

const retry = defineCommand({
  examples: [["haft jobs retry job_1", "queues an ended job again, as a new call"]],
  operands: [{ name: "ID", listedBy: "haft jobs list" }],
  notes: ["A server or a `haft worker` of this store runs it."],
  uses: ["jobs"],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect({ only: [], runsJobs: false })).jobs.retry(id), showJob);
  },
});

export const commands = { list, show, logs, cancel, retry };

function showJobs(jobs: readonly JobInfo[], { paint, columns }: Output): string[] {
  return showColumns(
    jobs.map((job) => [
      job.id,
      job.state,
      safeLine(job.toolName),
      showTime(job.createdAt),
      durationOf(job),
      job.attempt > 1 ? `attempt ${job.attempt} of ${job.attempts}` : "",
      safeLine(progressOf(job) ?? job.display ?? ""),
    ]),
    {
      paint,
      columns,
      styles: ["bold"],
      styleOf: (cell, at) => (at === 1 && isState(cell) ? STATE_STYLES[cell] : undefined),
    },
  );
}

function* showJob(job: JobDetail): Iterable<string> {
  yield `${job.id}  ${job.state}  ${safeLine(job.toolName)}  (call ${safeLine(job.callId)})`;
  yield `created ${showTime(job.createdAt)}, attempt ${job.attempt} of ${job.attempts}, priority ${job.priority}`;
  if (job.state === "delayed") yield `not before ${showTime(job.runAt)}`;
  if (job.startedAt !== undefined)
    yield `started ${showTime(job.startedAt)}${job.worker ? ` by ${safeLine(job.worker)}` : ""}`;
  if (job.endedAt !== undefined) yield `ended ${showTime(job.endedAt)}, after ${durationOf(job)}`;
  const progress = progressOf(job);
  if (progress !== undefined && job.endedAt === undefined) yield `progress ${safeLine(progress)}`;
  yield `input ${safe(showJson(job.input))}`;
  for (const block of job.result?.content ?? []) if (block.type === "text") yield safe(block.text);
}

function* showLogLine({ at, note, update }: JobLogLine): Iterable<string> {
  const time = showTime(at, { seconds: true });
  if (note !== undefined) yield `${time}  ${safe(note)}`;
  for (const block of update?.content ?? []) if (block.type === "text") yield `${time}  ${safe(block.text)}`;
  if (update?.progress) yield `${time}  ${safeLine(showProgress(update.progress))}`;
}

function durationOf({ startedAt, endedAt }: JobInfo): string {
  return startedAt === undefined || endedAt === undefined ? "" : showDuration(endedAt - startedAt);
}

function progressOf({ progress, endedAt }: JobInfo): string | undefined {
  return progress && endedAt === undefined ? showProgress(progress) : undefined;
}

function showProgress({ done, total, message }: NonNullable<JobInfo["progress"]>): string {
  return [total === undefined ? `${done}` : `${done}/${total}`, message].filter(Boolean).join(" ");
}
