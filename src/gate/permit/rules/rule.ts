import type { CallMode } from "../../../core/call.ts";
import type { AnyTool, ToolPermission } from "../../../core/tool.ts";
import { toolsKnownBy } from "../../../tools/built-in-tools.ts";
import { foldToolName, normalizeToolName } from "../tool-groups.ts";
import { isToolAllowed } from "../tool-policy.ts";
import {
  type Condition,
  ConditionError,
  looksLikeCondition,
  misreadCondition,
  parseConditions,
} from "./rule-conditions.ts";
import type { RuleFamily } from "./rule-subject.ts";

export type RuleList = "deny" | "ask" | "allow";

/** Checked in this order; the first list with a matching rule decides. */
export const RULE_LISTS: readonly RuleList[] = ["deny", "ask", "allow"];

/** Rules of one source: a file, the runtime's defaults, or the grants of a session. */
export interface RuleSource {
  /** `defaults`, `user`, `project`, `local`, `session`, `call`, or the name of the file; every verdict names it. */
  origin: string;
  /** The base folder of `/path` in its rules. Default: the call's working folder. */
  folder?: string;
  /** Calls that run without approval. */
  allow?: readonly string[];
  /** Calls that need approval. */
  ask?: readonly string[];
  /** Calls that are denied. */
  deny?: readonly string[];
  /** How many calls, and how much, in which time. The limits of all sources hold. */
  limits?: readonly Limit[];
  /** The default mode. */
  defaultMode?: CallMode;
  /** The permission of tools that state neither `readonly` nor whether they need approval. Default: `confirm`. */
  defaultPermission?: ToolPermission;
  /** If false, neither a source nor a call can use bypassPermissions. */
  mayBypass?: boolean;
}

/** How many calls of tools, and how much, there may be. Counted when a call starts, by all processes of a store together. */
export interface Limit {
  /** Names, groups, kinds and patterns, as in deny rules. */
  tools?: string | readonly string[];
  /** Instead of tools: requests of agents to models, as `provider/model`, `provider/*` or `*`. */
  models?: string | readonly string[];
  /** The most calls. */
  calls?: number;
  /** By unit, the most of what tools name as their amount; of models `tokens` and `USD`. */
  sum?: Readonly<Record<string, number>>;
  /** The time in which it may be used: any hour, not that of the clock. Default: ever. */
  per?: "minute" | "hour" | "day";
  /** Whom it counts apart. Default: all callers together. */
  each?: "user" | "session" | "agent";
  /** What becomes of a call beyond it. Default: `deny`. */
  then?: "ask" | "deny" | "wait";
}

/** A rule as written, and its source. */
export interface Rule {
  /** As written. */
  text: string;
  /** Whether it allows, asks or denies. */
  list: RuleList;
  /** Its source. */
  origin: string;
  /** The base folder of `/path`. */
  folder?: string;
}

/** `Tool` or `Tool(spec)`, parsed. */
export interface RuleText {
  /** As written: a name in any dialect, a group, a kind, `mcp__server`, or a pattern of names. */
  name: string;
  /** Which of the tool's calls; undefined means all of them. */
  spec?: string;
  /** The comparisons that a call must satisfy, instead of a pattern. */
  conditions?: readonly Condition[];
  /** Why it is not a rule. */
  problem?: string;
}

/** Throws a `ConditionError` for a condition that cannot be understood. */
export function parseRule(text: string): RuleText {
  const trimmed = text.trim();
  if (isEffectRule(trimmed)) return { name: trimmed, spec: trimmed, conditions: parseConditions(trimmed) };
  const open = trimmed.indexOf("(");
  if (open < 0) {
    if (trimmed === "" || trimmed.includes(")"))
      return { name: trimmed, problem: "it is not a rule: write Tool or Tool(…)" };
    return notebookRule(trimmed) ?? { name: trimmed };
  }
  const name = trimmed.slice(0, open).trim();
  if (name === "") return { name, problem: "it names no tool: write Tool(…)" };
  if (!trimmed.endsWith(")")) return { name, problem: "its bracket is not closed: write Tool(…)" };
  const inside = trimmed.slice(open + 1, -1);
  const notebooks = notebookRule(name, inside.trim() || undefined);
  if (notebooks) return notebooks;
  const matchesResource = FAMILIES.has(ruleToolName(name));
  if (!matchesResource && looksLikeCondition(inside))
    return { name, spec: inside, conditions: parseConditions(inside) };
  const spec = inside.replace(matchesResource ? /\\([()\\])/g : /\\([()\\<>=!])/g, "$1");
  return spec.trim() === "" || (spec === "*" && !isPathRule(name)) ? { name } : { name, spec };
}

/** `effect:delete>10`: calls of every tool. */
export function isEffectRule(text: string): boolean {
  return text.toLowerCase().startsWith("effect:");
}

/** `Read` and `Edit` match files, for every tool that touches them. */
function isPathRule(name: string): boolean {
  const normal = ruleToolName(name);
  return normal === "read" || normal === "edit";
}

const KNOWN_IN_RULES = toolsKnownBy("knownInRules");

/** Here notebooks are files like others, so a rule about notebook tools is one about files with this ending. */
const NOTEBOOK_RULES: ReadonlyMap<string, string> = new Map([
  ["notebookedit", "Edit"],
  ["notebook_edit", "Edit"],
  ["notebookread", "Read"],
  ["notebook_read", "Read"],
]);
const NOTEBOOKS = "*.ipynb";

function notebookRule(written: string, spec?: string): RuleText | undefined {
  const name = NOTEBOOK_RULES.get(foldToolName(written));
  if (name === undefined) return undefined;
  if (spec === undefined || spec === "*" || spec === "**") return { name, spec: NOTEBOOKS };
  if (spec.endsWith(".ipynb")) return { name, spec };
  if (/\/(?:\*\*)?$/.test(spec)) return { name, spec: `${spec.replace(/\/?\*\*$|\/$/, "")}/**/${NOTEBOOKS}` };
  return { name: written, problem: `it must match notebooks: write ${written}(${spec}/**), or ${name}(${spec})` };
}

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

/** Which tools a rule's name matches. */
export interface RuleTarget {
  family: RuleFamily | undefined;
  /** The rule names the tool: by any of its names, its kind, group or server. */
  names(tool: AnyTool): boolean;
  /** The rule may match the tool by what a call touches. */
  mayApplyTo(tool: AnyTool): boolean;
}

export function readTarget(name: string, list: RuleList): RuleTarget {
  if (isEffectRule(name)) return { family: undefined, names: () => list !== "allow", mayApplyTo: () => false };
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
      // An external tool itself declares which files it touches: too weak to allow it.
      const isOurs = tool.origin.type === "builtin" || tool.origin.type === "own";
      return isOurs && (family === "reads" || family === "changes");
    },
  };
}

function entriesOf(name: string): string[] {
  // A server's name alone means all its tools.
  if (/^mcp__[^*]+$/i.test(name) && !/^mcp__.+?__./i.test(name)) return [name, `${name.replace(/_+$/, "")}__*`];
  const known = ruleToolName(name);
  return known === name ? [name] : [name, known];
}

/** An allow pattern must name the server: `mcp__*` would trust every future server. */
export function mayAllow(name: string): boolean {
  return !name.includes("*") || /^mcp__[^*]+?__.*$/i.test(name);
}

/** Whether the rule's tools exist and none has a signature: only conditions and parameters can match their calls. */
export function isMute(named: readonly AnyTool[]): boolean {
  return named.length > 0 && named.every((tool) => !tool.signature);
}

/** Throws a `ConditionError` for a rule that means nothing, such as `pay(amount=100)` for a tool without a signature. */
export function refuseMisreadRules(rules: readonly Rule[], tools: readonly AnyTool[]): void {
  for (const { text, list, origin } of rules) {
    const { name, spec, conditions } = parseRule(text);
    const problem = spec === undefined || conditions ? undefined : misreadCondition(spec);
    if (problem === undefined) continue;
    const { family, names } = readTarget(name, list);
    if (family || !isMute(tools.filter((tool) => names(tool)))) continue;
    throw new ConditionError(`The rule ${JSON.stringify(text)} of ${origin}: ${problem}.`);
  }
}
