import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { showLogLine } from "../show-jobs.ts";

export const command = defineCommand({
  examples: [
    ["haft jobs logs job_1", "what it said so far"],
    ["haft jobs logs job_1 --follow", "and whatever it says, until it ends"],
  ],
  operands: [{ name: "ID" }],
  options: { follow: { type: "flag", short: "f", about: "Go on until the job ends; its end is the exit code" } },
  notes: ["What a worker on another machine streams is seen here too."],
  async run({ connect, output, interrupted, operands: [id = ""], options: { follow } }) {
    const client = await connect();
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
