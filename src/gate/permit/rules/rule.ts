import type { CallMode } from "../../../core/call.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { normalizeToolName } from "../tool-groups.ts";
import { isToolAllowed } from "../tool-policy.ts";
import type { RuleFamily } from "./rule-subject.ts";

export type RuleList = "deny" | "ask" | "allow";

/** Looked at in this order; the first list with a rule that matches decides. */
export const RULE_LISTS: readonly RuleList[] = ["deny", "ask", "allow"];

/** Rules that stand together: in a file, in the runtime's defaults, in what a person granted for a session. */
export interface RuleSource {
  /** `defaults`, `user`, `project`, `local`, `session`, `call`, or the name of the file: told with every verdict. */
  origin: string;
  /** What `/path` in its rules is relative to; the working folder of the call where absent. */
  folder?: string;
  /** Calls that run without a question. */
  allow?: readonly string[];
  /** Calls that ask a person. */
  ask?: readonly string[];
  /** Calls that are refused. */
  deny?: readonly string[];
  /** The mode of calls that name none. */
  defaultMode?: CallMode;
  /** False: nobody may switch off questions, neither a source nor a call. */
  mayBypass?: boolean;
}

/** A rule as it is written, and where. */
export interface Rule {
  /** As it is written. */
  text: string;
  /** Whether it allows, asks or denies. */
  list: RuleList;
  /** The source that has it. */
  origin: string;
  /** What `/path` in it is relative to. */
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

const FAMILIES: ReadonlyMap<string, RuleFamily> = new Map<string, RuleFamily>([
  ["read", "reads"],
  ["edit", "changes"],
  ["exec", "command"],
  ["web_fetch", "urls"],
]);

/** Which tools a rule's name means. */
export interface RuleTarget {
  family: RuleFamily | undefined;
  /** The tool itself is named: by any of its names, by its kind, its group, its server. */
  names(tool: AnyTool): boolean;
  /** The tool may be concerned because of what a call touches. */
  mayApplyTo(tool: AnyTool): boolean;
}

export function readTarget(name: string, list: RuleList): RuleTarget {
  const family = FAMILIES.get(ruleToolName(name));
  const kind = /^kind:(\w+)$/i.exec(name)?.[1]?.toLowerCase();
  const entries = kind === undefined ? entriesOf(name) : [];
  const names = (tool: AnyTool): boolean => {
    if (kind !== undefined) return kind === tool.kind || (kind === "read" && tool.isReadOnly);
    if (list !== "allow") return !isToolAllowed(tool, { deny: entries });
    return mayAllow(name) && isToolAllowed(tool, { allow: entries });
  };
  return {
    family,
    names,
    mayApplyTo(tool) {
      if (!family || !tool.signature) return false;
      if (list !== "allow") return true;
      // What comes from elsewhere says itself which files it touches: not a reason to let it.
      const isOurs = tool.origin.type === "builtin" || tool.origin.type === "own";
      return isOurs && (family === "reads" || family === "changes");
    },
  };
}

function entriesOf(name: string): string[] {
  // A whole server, by its name alone.
  if (/^mcp__[^*]+$/i.test(name) && !/^mcp__.+?__./i.test(name)) return [name, `${name.replace(/_+$/, "")}__*`];
  const known = ruleToolName(name);
  return known === name ? [name] : [name, known];
}

/** To allow by a pattern of names, the server must be said: `mcp__*` would trust every server there will ever be. */
export function mayAllow(name: string): boolean {
  return !name.includes("*") || /^mcp__[^*]+?__.*$/i.test(name);
}
