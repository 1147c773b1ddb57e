import type { CallMode } from "../../core/call.ts";
import { normalizeToolName } from "../normalize-name.ts";

export type RuleList = "deny" | "ask" | "allow";

/** Looked at in this order; the first list with a rule that matches decides. */
export const RULE_LISTS: readonly RuleList[] = ["deny", "ask", "allow"];

/** Rules that stand together: in a file, in the runtime's defaults, in what a person granted for a session. */
export interface RuleSource {
  /** `defaults`, `user`, `project`, `local`, `session`, `call`, or the name of the file: told with every verdict. */
  origin: string;
  /** What `/path` in its rules is relative to; the working folder of the call where absent. */
  folder?: string;
  allow?: readonly string[];
  ask?: readonly string[];
  deny?: readonly string[];
  defaultMode?: CallMode;
  /** False: nobody may switch off questions, neither a source nor a call. */
  mayBypass?: boolean;
}

/** A rule as it is written, and where. */
export interface Rule {
  text: string;
  list: RuleList;
  origin: string;
  folder?: string;
}

/** `Tool` or `Tool(spec)`, taken apart. */
export interface RuleText {
  /** As written: a name in any dialect, a group, a kind, `mcp__server`, or a pattern of names. */
  name: string;
  /** What of the tool's calls; undefined means all of them. */
  spec?: string;
  /** Why it is no rule. */
  problem?: string;
}

export function parseRule(text: string): RuleText {
  const trimmed = text.trim();
  const open = trimmed.indexOf("(");
  if (open < 0) {
    if (trimmed === "" || trimmed.includes(")"))
      return { name: trimmed, problem: "it is no rule: write Tool or Tool(…)" };
    return { name: trimmed };
  }
  const name = trimmed.slice(0, open).trim();
  if (name === "") return { name, problem: "it names no tool: write Tool(…)" };
  if (!trimmed.endsWith(")")) return { name, problem: "its bracket is not closed: write Tool(…)" };
  const spec = trimmed.slice(open + 1, -1).replace(/\\([()\\])/g, "$1");
  return spec.trim() === "" || (spec === "*" && !isPathRule(name)) ? { name } : { name, spec };
}

/** `Read` and `Edit` speak of files, whichever tool touches them. */
function isPathRule(name: string): boolean {
  const normal = ruleToolName(name);
  return normal === "read" || normal === "edit";
}

/** Names of other systems that mean something in rules only. */
const KNOWN_IN_RULES: ReadonlyMap<string, string> = new Map([
  ["agent", "call_subagent"],
  ["task", "call_subagent"],
  ["notebookedit", "edit"],
  ["notebook_edit", "edit"],
  ["notebookread", "read"],
]);

export function ruleToolName(name: string): string {
  const normal = normalizeToolName(name);
  return KNOWN_IN_RULES.get(normal) ?? normal;
}
