import { didYouMean } from "../core/nearest-name.ts";
import { TOOL_GROUPS } from "./groups.ts";
import type { ToolPolicy } from "./tool-policy.ts";

const LISTS = ["allow", "alsoAllow", "deny"] as const;
const KEYS = ["profile", ...LISTS];
/** Groups that come with plugins and servers, and so cannot be known beforehand. */
const BY_ORIGIN = /^group:(?:plugins|mcp|plugin:.+|mcp:.+)$/;

/**
 * What in a policy is probably a mistake: a deny that denies nothing looks like one that does. Throws where a list is no
 * list. Names of single tools are not judged: the tool may be registered later.
 */
export function lintToolPolicy(policy: ToolPolicy): string[] {
  const warnings: string[] = [];
  for (const key of Object.keys(policy)) {
    if (!KEYS.includes(key))
      warnings.push(`A policy has no "${key}". ${didYouMean(key, KEYS) ?? `It has ${KEYS.join(", ")}.`}`);
  }
  for (const list of LISTS) {
    const entries = policy[list];
    if (entries === undefined) continue;
    if (!Array.isArray(entries)) throw new TypeError(`"${list}" of a policy is a list of names, groups and patterns.`);
    for (const entry of entries as readonly string[]) {
      const group = entry.trim().toLowerCase();
      if (!group.startsWith("group:") || Object.hasOwn(TOOL_GROUPS, group) || BY_ORIGIN.test(group)) continue;
      const known = Object.keys(TOOL_GROUPS);
      const hint = didYouMean(entry, known) ?? `Groups are: ${known.join(", ")}.`;
      warnings.push(`"${entry}" in "${list}" of a policy is no group, so it concerns no tool. ${hint}`);
    }
  }
  return warnings;
}
