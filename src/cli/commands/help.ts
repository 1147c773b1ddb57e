import { defineCommand } from "../command.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { GLOBAL_OPTIONS, UsageError } from "../arguments.ts";
import { ENVIRONMENT, showEnvironment, showExitCodes, showGlobalOptions } from "../help.ts";

const TOPICS = ["options", "environment", "exit-codes"];

export const help = defineCommand({
  examples: [
    ["haft help", "all commands, by task"],
    ["haft help tools call", "examples and options of one"],
    ["haft help options", "the options of every command"],
    ["haft help environment", "the environment variables"],
    ["haft help exit-codes", "what the exit codes mean"],
  ],
  operands: [{ name: "TOPIC", isOptional: true, isRest: true }],
  async run({ operands, output, run }) {
    const [topic] = operands;
    if (topic === undefined) return run(["--help"], {});
    if (!TOPICS.includes(topic)) return run([...operands, "--help"], {});
    if (operands.length > 1) throw new UsageError(`${topic} takes nothing more.`);
    if (topic === "options") {
      output.data(GLOBAL_OPTIONS, () => showGlobalOptions(output.paint));
      return undefined;
    }
    if (topic === "environment") {
      const variables = ENVIRONMENT.map(([name, about]) => ({ name, about }));
      output.data(variables, () => showEnvironment(output.paint));
      return undefined;
    }
    const codes = EXIT_CODES.map(([code, meaning]) => ({ code, meaning }));
    output.data(codes, () => showExitCodes(output.paint));
    return undefined;
  },
});
