import { defineCommand } from "../command.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { GLOBAL_OPTIONS, UsageError } from "../arguments.ts";
import { showExitCodes, showGlobalOptions } from "../help.ts";

export const help = defineCommand({
  examples: [
    ["haft help", "all commands, by task"],
    ["haft help tools call", "examples and options of one"],
    ["haft help options", "the options of every command"],
    ["haft help exit-codes", "what the exit codes mean"],
  ],
  operands: [{ name: "TOPIC", isOptional: true, isRest: true }],
  async run({ operands, output, run }) {
    const [topic] = operands;
    if (topic === undefined) return run(["--help"], {});
    if (topic !== "exit-codes" && topic !== "options") return run([...operands, "--help"], {});
    if (operands.length > 1) throw new UsageError(`${topic} takes nothing more.`);
    if (topic === "options") {
      output.data(GLOBAL_OPTIONS, () => showGlobalOptions(output.paint));
      return undefined;
    }
    const codes = EXIT_CODES.map(([code, meaning]) => ({ code, meaning }));
    output.data(codes, () => showExitCodes(output.paint));
    return undefined;
  },
});
