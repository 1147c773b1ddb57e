import { defineCommand } from "../command.ts";
import { findSession, showEntry, showSession } from "../show-sessions.ts";

export const command = defineCommand({
  examples: [
    ["haft sessions show research", "by its label or key: where it stands, and what was said"],
    ["haft sessions show ses_1 --jsonl", "every entry as a line of JSON"],
  ],
  operands: [{ name: "SESSION" }],
  async run({ connect, output, operands: [wanted = ""] }) {
    const client = await connect();
    const key = await findSession(client, wanted);
    const session = await client.sessions.get(key);
    const entries = [];
    for (let after = 0; ;) {
      const { items, next } = await client.sessions.history(key, { after });
      entries.push(...items);
      if (next === undefined) break;
      after = Number(next);
    }
    if (output.format === "jsonl") {
      for (const entry of entries) output.item(entry, showEntry);
      return;
    }
    output.data({ ...session, entries }, function* show(shown) {
      yield* showSession(shown);
      yield "";
      for (const entry of shown.entries) yield* showEntry(entry);
    });
  },
});
