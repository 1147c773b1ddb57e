import { ARTIFACT_SESSION, ofSession } from "../artifact-options.ts";
import { defineCommand } from "../command.ts";
import { safe } from "../output.ts";
import { paintDiff } from "../paint-diff.ts";

export const command = defineCommand({
  examples: [
    ["haft artifacts diff report --session review", "what the last change was"],
    ["haft artifacts diff report --from 1 --to 4", "between two versions"],
  ],
  operands: [{ name: "ID" }],
  options: {
    ...ARTIFACT_SESSION,
    from: { type: "number", value: "N", range: [1, 1_000_000], about: "The one before --to unless said" },
    to: { type: "number", value: "N", range: [1, 1_000_000], about: "The newest unless said" },
  },
  async run({ connect, output, operands: [id = ""], options: { session, from, to } }) {
    const client = await connect();
    const between = { from, to };
    const diff = await client.artifacts.diff(id, { ...ofSession(session), ...between });
    output.data(diff, ({ text }) => (text === "" ? [] : [paintDiff(safe(text), output)]));
    if (diff.text === "") output.info(`Versions ${diff.from} and ${diff.to} are the same.`);
  },
});
