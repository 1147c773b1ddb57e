import type { ScheduleRun } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { pause } from "../pause.ts";
import { showRuns } from "../show-schedules.ts";

const CHECK_INTERVAL_MS = 200;

export const command = defineCommand({
  examples: [["haft cron run sch_1", "now, with the rights that it has; waits for the end"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, interrupted, operands: [id = ""] }) {
    const client = await connect();
    let run: ScheduleRun = await client.schedules.run(id);
    while (run.state === "running" && !interrupted.aborted) {
      await pause(CHECK_INTERVAL_MS, interrupted);
      const { items } = await client.schedules.runs(id, { limit: 1, before: run.number + 1 });
      run = items[0] ?? run;
    }
    output.data(run, (ended) => showRuns([ended], output));
    if (interrupted.aborted) return EXIT.interrupted;
    if (run.pending?.kind === "approval") output.info("It waits for an answer: haft approvals list");
    if (run.state === "waiting") return EXIT.pending;
    return run.state === "failed" ? EXIT.toolFailed : EXIT.done;
  },
});
