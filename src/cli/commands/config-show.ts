import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";

export const command = defineCommand({
  examples: [
    ["haft config show", "what is set; secrets are hidden"],
    ["haft config show --origin", "and the file and line that says it"],
  ],
  options: { origin: { type: "flag", about: "Show where each value comes from" } },
  async run({ connect, output, options: { origin: withOrigin } }) {
    const client = await connect();
    const { entries } = await client.configuration();
    const items = withOrigin ? entries : entries.map(({ key, value }) => ({ key, value }));
    output.list({ items }, () =>
      showColumns(
        entries.map(({ key, value, origin }) => [
          safeLine(key),
          safeLine(JSON.stringify(value)),
          ...(withOrigin ? [safeLine(origin)] : []),
        ]),
        { paint: output.paint, styles: ["cyan", undefined, "dim"] },
      ),
    );
    if (entries.length === 0)
      output.info("Nothing is set: everything is as it comes. `haft init` writes a file to start from.");
  },
});
