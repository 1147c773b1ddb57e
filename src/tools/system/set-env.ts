import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { type EnvironmentOptions, readVariable } from "./read-variable.ts";

export function createSetEnvTool(options: EnvironmentOptions) {
  return createTool({
    name: "set_env",
    title: "Set environment variable",
    description: {
      short: "Sets an environment variable for the further commands of this session.",
      usageNotes: [
        "Only this session's commands see it: nothing else on this machine changes, and it ends with the session.",
      ],
      important: ["Names that change what programs run or load (PATH, LD_PRELOAD, NODE_OPTIONS, GIT_…) are refused."],
      examples: [
        { input: { key: "APP_MODE", value: "test" } },
        { input: { key: "APP_MODE", value: null }, description: "as if this session had never set it" },
      ],
    },
    parameters: z.object({
      key: z.string().min(1).max(1024).describe('Name of the variable, without "$"'),
      value: z.string().nullable().describe("Its value; null takes back what this session has set"),
    }),
    kind: "write",
    category: ToolCategory.SYSTEM,
    tags: ["environment", "variable", "env"],
    origin: { type: "builtin" },
    idempotent: true,
    signature: ({ key }) => key,
    run({ key, value }, { caller }) {
      const before = readVariable(key, caller.session, options);
      const overlay = options.environments.of(caller.session);
      if (value === null) overlay.unset(key);
      else overlay.set(key, value);
      const name = JSON.stringify(key).slice(1, -1);
      const done = value === null ? `${name} is no longer set by this session` : `${name} is set for this session`;
      const was = before.value === null ? "It was not set before." : `Before, it was ${JSON.stringify(before.value)}.`;
      return {
        content: [text(`${done}. ${was}`)],
        display: done,
        details: { previous: before.value },
        ...(before.masked ? { metadata: { masked: true } } : {}),
      };
    },
  });
}
