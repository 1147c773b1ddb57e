import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { maskSecret } from "../../core/secrets/mask-secrets.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { SessionEnvironments } from "../../io/shell/shell-environment.ts";
import { stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createGetEnvTool(options: EnvironmentOptions) {
  return createTool({
    name: "get_env",
    title: "Get environment variable",
    description: {
      short: "Reads an environment variable as commands of this session see it.",
      usageNotes: [
        "Commands see a part of this machine's environment and the variables set with set_env.",
        ...(options.showSecrets ? [] : ["Values that look like secrets are masked; commands see the real values."]),
      ],
      examples: [{ input: { key: "HOME" } }],
    },
    parameters: z.object({
      key: z.string().min(1).max(1024).describe('Name of the variable, without "$"'),
    }),
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["environment", "variable", "env"],
    builtIn: {
      zh: { title: "读取环境变量", short: "读取本会话的命令所看到的环境变量。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      value: field.orNull(field.text("Null if it is not set; masked if it looks like a secret")),
    }),
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
      const note = "\n(It looks like a secret and is masked here. Commands see the real value.)";
      return {
        content: [text(`${name}=${value}${masked ? note : ""}`)],
        display: masked ? `${name} is set, its value is masked` : `${name}=${stripTerminalCodes(value)}`,
        details: { value },
        metadata: masked ? { masked } : undefined,
      };
    },
  });
}

export function createSetEnvTool(options: EnvironmentOptions) {
  return createTool({
    name: "set_env",
    title: "Set environment variable",
    description: {
      short: "Sets an environment variable for later commands of this session.",
      usageNotes: [
        "Only commands of this session see it. Nothing else on this machine changes, and it ends with the session.",
      ],
      important: ["Names that change what programs run or load (PATH, LD_PRELOAD, NODE_OPTIONS, GIT_…) are refused."],
      examples: [
        { input: { key: "APP_MODE", value: "test" } },
        { input: { key: "APP_MODE", value: null }, description: "removes it from this session" },
      ],
    },
    parameters: z.object({
      key: z.string().min(1).max(1024).describe('Name of the variable, without "$"'),
      value: z.string().nullable().describe("Its value; null removes what this session has set"),
    }),
    kind: "write",
    category: ToolCategory.SYSTEM,
    tags: ["environment", "variable", "env"],
    builtIn: {
      zh: { title: "设置环境变量", short: "为本会话之后的命令设置环境变量。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ previous: field.orNull(field.text("Null if it was not set")) }),
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
        metadata: before.masked ? { masked: true } : undefined,
      };
    },
  });
}

export interface EnvironmentOptions {
  environments: SessionEnvironments;
  /** Show values that look like secrets instead of masking them. */
  showSecrets?: boolean;
}

interface ShownVariable {
  /** Null if the variable is not set. */
  value: string | null;
  masked: boolean;
}

/** A variable as commands of a session see it, masked for a model. */
function readVariable(
  name: string,
  session: string | undefined,
  { environments, showSecrets = false }: EnvironmentOptions,
): ShownVariable {
  const environment = environments.environmentOf(session);
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value === undefined) return { value: null, masked: false };
  return showSecrets ? { value, masked: false } : maskSecret(name, value);
}
