import type { AnyTool } from "../../core/tool.ts";
import type { Hook } from "./hook-settings.ts";

/** Names, blanks and separators only: a list of exact names. Everything else is a regular expression. */
const NAME_LIST = /^[\w\-\s,|]+$/;

/** What matchers written for Claude Code mean by these tools, besides their own names. */
const ALSO_KNOWN_AS: Readonly<Record<string, readonly string[]>> = {
  edit: ["MultiEdit"],
  // It does what these do: a hook that guards files must not be passed by it.
  apply_patch: ["Edit", "Write", "MultiEdit"],
};

/** Whether a matcher means the tool, by its own name or by the one that Claude Code has for it. */
export function createMatcher({ matcher, name, origin }: Pick<Hook, "matcher" | "name" | "origin">) {
  const wanted = matcher.trim();
  if (wanted === "" || wanted === "*") return () => true;
  if (NAME_LIST.test(wanted)) {
    const listed = new Set(wanted.split(/[|,]/).map((one) => one.trim()));
    return (tool: AnyTool): boolean => namesOf(tool).some((one) => listed.has(one));
  }
  let pattern: RegExp;
  try {
    pattern = new RegExp(wanted);
  } catch (cause) {
    throw new TypeError(`The matcher of the hook "${name}" of ${origin} is no regular expression.`, { cause });
  }
  return (tool: AnyTool): boolean => namesOf(tool).some((one) => pattern.test(one));
}

export function claudeNameOf(tool: AnyTool): string {
  return tool.dialects["claude"]?.name ?? tool.name;
}

function namesOf(tool: AnyTool): string[] {
  const isOurs = tool.origin.type === "builtin" && Object.hasOwn(ALSO_KNOWN_AS, tool.name);
  return [claudeNameOf(tool), tool.name, ...(isOurs ? ALSO_KNOWN_AS[tool.name]! : [])];
}
