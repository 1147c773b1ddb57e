import { ARTIFACT_SESSION, ofSession } from "../artifact-options.ts";
import { defineCommand } from "../command.ts";
import { safe } from "../output.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft artifacts show report --session review", "the newest version"],
    ["haft artifacts show report 2 > report.md", "an older one, into a file"],
  ],
  operands: [{ name: "ID" }, { name: "VERSION", isOptional: true }],
  options: ARTIFACT_SESSION,
  async run({ connect, output, operands: [id = "", number], options: { session } }) {
    if (number !== undefined && !/^[1-9]\d{0,5}$/.test(number)) {
      throw new UsageError(`"${number}" is no version.`, "Versions are whole numbers from 1.");
    }
    const client = await connect();
    const which = number === undefined ? {} : { version: Number(number) };
    const artifact = await client.artifacts.get(id, { ...ofSession(session), ...which });
    output.data(artifact, ({ content }) => safe(content).replace(/\n$/, "").split("\n"));
  },
});
