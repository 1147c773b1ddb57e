import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { countOf } from "../../core/results/count-of.ts";
import type { ReplayReport } from "../../gate/record-and-replay.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { safeLine } from "../output.ts";

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

export const replay = defineCommand({
  examples: [
    ["haft replay session.jsonl", "serve, with answers from the recording"],
    ["haft replay session.jsonl -- tools call read path=README.md", "one command; nothing is really read"],
    ["haft replay session.jsonl --strict -- tools call …", "each recorded call once, in its order"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  options: {
    strict: { type: "flag", about: "Each recorded call answers once and in order; exits with 1 on any difference" },
    "recorded-pace": { type: "flag", about: "Take as long as the recorded calls" },
  },
  takesRest: true,
  notes: ["The policy still applies. A call that was not recorded fails and never runs."],
  async run({ operands: [file = ""], rest, options, folder, url, terminal, output, run }) {
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
