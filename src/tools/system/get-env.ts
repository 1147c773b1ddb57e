import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";
import { type EnvironmentOptions, readVariable } from "./read-variable.ts";

export function createGetEnvTool(options: EnvironmentOptions) {
  return createTool({
    name: "get_env",
    title: "Get environment variable",
    description: {
      short: "Reads an environment variable as the commands of this session get it.",
      usageNotes: [
        "Commands get a part of this machine's environment and what set_env has set.",
        ...(options.showSecrets ? [] : ["Values that look like secrets are masked; commands get them whole."]),
      ],
      examples: [{ input: { key: "HOME" } }],
    },
    parameters: z.object({
      key: z.string().min(1).max(1024).describe('Name of the variable, without "$"'),
    }),
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["environment", "variable", "env"],
    origin: { type: "builtin" },
    labels: options.showSecrets ? ["sensitive_data"] : [],
    signature: ({ key }) => key,
    run({ key }, { caller }) {
      const { value, masked } = readVariable(key, caller.session, options);
      const name = JSON.stringify(key).slice(1, -1);
      if (value === null) {
        const hint = didYouMean(key, Object.keys(options.environments.environmentOf(caller.session)));
        const message = `${name} is not set for the commands of this session.${hint ? ` ${hint}` : ""}`;
        return { content: [text(message)], display: `${name} is not set`, details: { value } };
      }
      const note = "\n(What looks like a secret is masked here. Commands get the whole value.)";
      return {
        content: [text(`${name}=${value}${masked ? note : ""}`)],
        display: masked ? `${name} is set, its value is masked` : `${name}=${stripTerminalCodes(value)}`,
        details: { value },
        ...(masked ? { metadata: { masked } } : {}),
      };
    },
  });
}
