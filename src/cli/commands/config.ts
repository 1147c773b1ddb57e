import { ToolError } from "../../core/error.ts";
import { defineCommand } from "../command.ts";
import { showColumns } from "../layout.ts";
import { safeLine } from "../output.ts";

const show = defineCommand({
  examples: [
    ["haft config show", "the settings; secrets are hidden"],
    ["haft config show --origin", "with the file and line of each, and whether a change needs a restart"],
  ],
  options: { origin: { type: "flag", about: "Show where each value comes from, and when a change takes effect" } },
  uses: ["configuration"],
  async run({ connect, output, options: { origin: withOrigin } }) {
    const client = await connect();
    const { entries, state, untrusted } = await client.configuration.show();
    if (untrusted !== undefined) output.warn(safeLine(untrusted));
    const items = withOrigin ? entries : entries.map(({ key, value }) => ({ key, value }));
    output.list({ items }, () =>
      showColumns(
        entries.map(({ key, value, origin, binding, isPending }) => [
          safeLine(key),
          safeLine(JSON.stringify(value)) + (isPending ? "  (restart needed)" : ""),
          ...(withOrigin ? [safeLine(origin), binding === "restart" ? "needs a restart" : ""] : []),
        ]),
        { paint: output.paint, columns: output.columns, styles: ["cyan", undefined, "dim", "dim"] },
      ),
    );
    for (const problem of state.problems) output.warn(`Not in effect: ${safeLine(problem)}`);
    if (state.restartNeeded.length > 0) output.warn(`Restart needed: ${safeLine(state.restartNeeded.join(", "))}`);
    if (entries.length === 0) output.info("No configuration; defaults apply. `haft init` writes a file to start from.");
  },
});

export const commands = { show };

export const init = defineCommand({
  examples: [["haft init", "write haft.config.yml here, with comments; an existing file is not replaced"]],
  async run({ folder, output }) {
    const { initConfig } = await import("../../config/init-config.ts");
    try {
      const file = await initConfig(folder);
      output.data({ file }, () => [file]);
      output.info("Edit it, then check its rules with `haft policy lint`.");
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "path_exists") throw error;
      throw new Error("haft.config.yml exists already. Edit it, or remove it first.", { cause: error });
    }
  },
});
