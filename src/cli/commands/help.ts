import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { showExitCodes } from "../help.ts";

export const help = defineCommand({
  examples: [
    ["haft help exit-codes", "what the exit codes mean"],
    ["haft help tools call", "the same as `haft tools call --help`"],
  ],
  operands: [{ name: "TOPIC", isOptional: true, isRest: true }],
  async run({ operands, output, run }) {
    const [topic] = operands;
    if (topic === undefined) return run(["--help"], {});
    if (topic !== "exit-codes") return run([...operands, "--help"], {});
    if (operands.length > 1) throw new UsageError("exit-codes takes nothing more.");
    const codes = EXIT_CODES.map(([code, meaning]) => ({ code, meaning }));
    output.data(codes, () => showExitCodes(output.paint));
    return undefined;
  },
});
