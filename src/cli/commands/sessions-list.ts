import type { SessionState } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { showSessions } from "../show-sessions.ts";

export const command = defineCommand({
  examples: [
    ["haft sessions list", "conversations with agents, those that changed last first"],
    ["haft sessions list --state waiting --json", "those that wait for a person, a job or a client"],
  ],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "Only those in this state",
      oneOf: ["idle", "running", "waiting", "stopped", "failed"],
    },
    limit: { type: "number", short: "n", value: "N", range: [1, 500], about: "At most so many, 100 unless said" },
  },
  async run({ connect, output, options: { state, limit } }) {
    const client = await connect();
    const page = await client.sessions.list({
      state: state === undefined ? undefined : (state as SessionState),
      limit,
    });
    output.list(page, (sessions) => showSessions(sessions, output));
    if (page.items.length === 0) output.info("There is none. `haft sessions send --new NAME TEXT` begins one.");
    if (!page.canAnswer) output.info("No model is configured: sessions can be read, and nobody answers in them.");
  },
});
