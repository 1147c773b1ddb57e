import type { AnyTool } from "../core/tool.ts";
import { groupNamed, originGroups } from "./groups.ts";
import { foldToolName, normalizeToolName } from "./normalize-name.ts";
import { profileNamed, type ProfileName } from "./profiles.ts";

/** Which tools exist for a caller. Names, groups and `*` patterns on both lists; deny wins. */
export interface ToolPolicy {
  profile?: ProfileName;
  allow?: readonly string[];
  /** Added to what the profile allows. */
  alsoAllow?: readonly string[];
  deny?: readonly string[];
}

/** The seed's question, by name alone. Whether a tool of a runtime may be called is asked with the tool itself. */
export function isToolAllowedByPolicy(toolName: string, policy: ToolPolicy): boolean {
  return isAllowed({ names: [normalizeToolName(toolName)], groups: [] }, policy);
}

/** A tool that any of its names puts on the deny list is denied; one that any of them allows is allowed. */
export function isToolAllowed(tool: AnyTool, policy: ToolPolicy): boolean {
  return isAllowed(subjectOf(tool), policy);
}

interface Subject {
  names: readonly string[];
  groups: readonly string[];
  /** Of a tool from elsewhere: its names as they are. To be called like a built-in tool may deny it, and never allows it. */
  ownNames?: readonly string[];
}

const subjects = new WeakMap<AnyTool, Subject>();

function subjectOf(tool: AnyTool): Subject {
  let subject = subjects.get(tool);
  if (!subject) {
    const all = [tool.name, ...tool.aliases, `${tool.name}@${tool.version}`];
    const own = all.map(foldToolName);
    const isForeign = tool.origin.type !== "builtin" && tool.origin.type !== "own";
    subject = {
      names: [...new Set([...all.map(normalizeToolName), ...own])],
      groups: originGroups(tool),
      ...(isForeign ? { ownNames: own } : {}),
    };
    subjects.set(tool, subject);
  }
  return subject;
}

function isAllowed(subject: Subject, { profile, allow, alsoAllow, deny }: ToolPolicy): boolean {
  if (deny?.some((entry) => matches(entry, subject))) return false;
  const admits = subject.ownNames ? admitsOwnName : matches;
  const ofProfile = profile === undefined ? undefined : profileNamed(profile);
  const inProfile = !ofProfile || [...ofProfile, ...(alsoAllow ?? [])].some((entry) => admits(entry, subject));
  const inAllow = !allow || allow.length === 0 || allow.some((entry) => admits(entry, subject));
  return inProfile && inAllow;
}

function matches(entry: string, { names, groups }: Subject): boolean {
  const group = groupNamed(entry);
  return group ? group.some((name) => names.includes(name)) : isOneOf(normalizeToolName(entry), names, groups);
}

function admitsOwnName(entry: string, { ownNames = [], groups }: Subject): boolean {
  return !groupNamed(entry) && isOneOf(foldToolName(entry), ownNames, groups);
}

function isOneOf(wanted: string, names: readonly string[], groups: readonly string[]): boolean {
  if (wanted.startsWith("group:")) return groups.some((name) => foldToolName(name) === wanted);
  if (!wanted.includes("*")) return names.includes(wanted);
  return names.some((name) => matchesPattern(name, wanted));
}

/** `*` for any run of characters; linear, so that a hostile pattern costs nothing. */
function matchesPattern(name: string, pattern: string): boolean {
  const parts = pattern.split("*");
  const first = parts.shift()!;
  const last = parts.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
