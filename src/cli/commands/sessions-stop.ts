import { defineCommand } from "../command.ts";
import { findSession } from "../show-sessions.ts";

export const command = defineCommand({
  examples: [["haft sessions stop research", "ends its turn, and those of the sessions that it spawned"]],
  operands: [{ name: "SESSION" }],
  async run({ connect, output, operands: [wanted = ""] }) {
    const client = await connect();
    const { stopped } = await client.sessions.stop(await findSession(client, wanted));
    output.data({ stopped }, () => [stopped === 0 ? "It was not at work." : `Stopped: ${stopped}.`]);
  },
});
