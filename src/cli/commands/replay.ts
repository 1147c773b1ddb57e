import { resolve } from "node:path";
import { createReplay, type ReplayReport } from "../../gate/record-and-replay.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safeLine } from "../output.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft replay session.jsonl", "serve, answering from the recording"],
    ["haft replay session.jsonl -- tools call read path=README.md", "one command; nothing is really read"],
    ["haft replay session.jsonl --strict -- tools call …", "each recorded call once, in its order"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  options: {
    strict: { type: "flag", about: "Each recorded call answers once and in order; exits with 1 on any difference" },
    "recorded-pace": { type: "flag", about: "Take the time that it took" },
  },
  takesRest: true,
  notes: ["Policy still counts: what is denied now is denied. What was not recorded fails, and is never run."],
  async run({ operands: [file = ""], rest, options, folder, url, terminal, output, run }) {
    if (url !== undefined)
      throw new UsageError("Another server cannot be replayed here.", "Start that one with `haft replay`.");
    const { strict, "recorded-pace": recordedPace } = options;
    const replay = createReplay(resolve(terminal.cwd, file), { strict, pace: recordedPace ? "recorded" : "at_once" });
    const words = rest.length === 0 ? ["serve"] : rest;
    const exitCode = await run(["--folder", folder, ...words], { middleware: replay.middleware });
    const report = replay.report();
    for (const line of describe(report)) output.info(line);
    const differs = report.differing.length > 0 || (strict && report.unused.length > 0);
    return exitCode === EXIT.done && differs ? EXIT.failed : exitCode;
  },
});

function describe({ used, unused, differing, outOfOrder, changedTools, isTorn }: ReplayReport): string[] {
  return [
    `${used.length} calls were answered from the recording; ${unused.length} of it were not used.`,
    ...differing.map(({ tool, why }) => `differs: ${safeLine(tool)}: ${safeLine(why)}`),
    ...(outOfOrder.length > 0 ? [`${outOfOrder.length} came in another order.`] : []),
    ...changedTools.map((tool) => `${safeLine(tool)} is defined otherwise than when it was recorded.`),
    ...(isTorn ? ["The recording was cut off in the middle of a line."] : []),
  ];
}
