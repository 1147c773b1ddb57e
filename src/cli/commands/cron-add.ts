import type { CallMode } from "../../http/wire.ts";
import { readTiming } from "../../tools/schedules/schedule-text.ts";
import { defineCommand } from "../command.ts";
import { readCallInput } from "../read-call-input.ts";
import { showSchedules } from "../show-schedules.ts";
import { showTime } from "../show-time.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft cron add --cron '30 8 * * 1-5' exec command='git fetch'", "every working day at half past eight"],
    ["haft cron add --every 15m http_get url=https://example.com", "again and again"],
    ["haft cron add --at 20m --name tea exec command='echo tea'", "once, in twenty minutes"],
  ],
  operands: [
    { name: "TOOL", completes: "tool" },
    { name: "ARGUMENT", isOptional: true, isRest: true },
  ],
  options: {
    cron: { type: "text", value: "EXPRESSION", about: "Minute, hour, day, month, weekday" },
    zone: { type: "text", value: "ZONE", about: "Of the expression, as Europe/Berlin; this machine's unless said" },
    every: { type: "text", value: "TIME", about: "30s, 5m, 2h, 1d" },
    at: { type: "text", value: "TIME", about: "2026-11-16T08:30:00Z, or 20m from now" },
    name: { type: "text", value: "NAME", about: "For people" },
    mode: {
      type: "text",
      value: "MODE",
      about: "How much its calls ask",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    allow: { type: "list", value: "TOOLS", about: "Its calls may use these alone" },
    deny: { type: "list", value: "TOOLS", about: "Its calls may not use these" },
    "skip-missed": { type: "flag", about: "Nothing is made up for after times when nobody was running" },
    paused: { type: "flag", about: "Waits for `haft cron resume`" },
  },
  notes: [
    "Each run passes the same gate as your own calls, with your rights. What must ask waits in `haft approvals list`.",
    "It runs while `haft serve` or `haft worker` runs; times that passed meanwhile are told by `haft cron runs`.",
  ],
  async run({ connect, terminal, output, operands: [toolName = "", ...words], options }) {
    const { cron, zone, every, at, name, mode, allow, deny, paused } = options;
    const timing = readTiming({ cron, every, at, timeZone: zone }, Date.now());
    if (!timing) throw new UsageError("When?", "Say --cron, --every or --at.");
    const input = await readCallInput(words, terminal);
    const client = await connect();
    const policy = {
      allow: allow.length > 0 ? [...allow] : undefined,
      deny: deny.length > 0 ? [...deny] : undefined,
    };
    const added = await client.schedules.add({
      timing,
      target: { type: "call", toolName, input },
      missed: options["skip-missed"] ? "skip" : "run_once",
      isPaused: paused,
      name,
      mode: mode === undefined ? undefined : (mode as CallMode),
      policy: Object.keys(policy).length > 0 ? policy : undefined,
    });
    output.data(added, (schedule) => showSchedules([schedule], output));
    if (added.upcoming.length > 0) output.info(`Next: ${added.upcoming.map(showTime).join(", ")}`);
    const { status } = await client.schedules.list();
    if (!status.isRunning) output.info("Nobody runs schedules at the moment: start `haft serve` or `haft worker`.");
  },
});
