import { ToolError } from "../../core/error.ts";
import { defineCommand } from "../command.ts";

export const command = defineCommand({
  examples: [["haft init", "write haft.config.yml here, with every line explained; never over one that is there"]],
  async run({ folder, output }) {
    const { initConfig } = await import("../../config/init-config.ts");
    try {
      const file = await initConfig(folder);
      output.data({ file }, () => [file]);
      output.info("Edit it, then `haft policy lint` tells whether its rules make sense.");
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "path_exists") throw error;
      throw new Error("There is a haft.config.yml already. Edit that one, or remove it first.", { cause: error });
    }
  },
});
