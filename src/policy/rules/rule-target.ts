import type { AnyTool } from "../../core/tool.ts";
import { isToolAllowed } from "../tool-policy.ts";
import { ruleToolName, type RuleList } from "./rule.ts";
import type { RuleFamily } from "./subject.ts";

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
