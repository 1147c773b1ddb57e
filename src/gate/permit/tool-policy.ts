import type { AnyTool } from "../../core/tool.ts";
import {
  foldToolName,
  groupNamed,
  normalizeToolName,
  originGroups,
  type ProfileName,
  profileNamed,
  type Profiles,
} from "./tool-groups.ts";

/** Which tools exist for a caller. Names, groups and `*` patterns on every list; deny wins. */
export interface ToolPolicy {
  /** A named set of tools to start from. */
  profile?: ProfileName;
  /** Names, patterns and groups; if present, all others are excluded. */
  allow?: readonly string[];
  /** Added to what the profile allows. */
  alsoAllow?: readonly string[];
  /** Names, patterns and groups; wins over `allow`. */
  deny?: readonly string[];
  /** Profiles of one's own, by name. */
  profiles?: Profiles;
}

/** Why a policy does not let a tool through: the list, and of the deny list the entry. */
export interface Refusal {
  list: "deny" | "profile" | "allow";
  entry?: string;
  reason: string;
}

/** The seed's question, by name alone. Whether a tool of a runtime may be called is asked with the tool itself. */
export function isToolAllowedByPolicy(toolName: string, policy: ToolPolicy): boolean {
  return refusalOf({ names: [normalizeToolName(toolName)], groups: [] }, policy) === undefined;
}

/** A tool that any of its names puts on the deny list is denied; one that any of them allows is allowed. */
export function isToolAllowed(tool: AnyTool, policy: ToolPolicy): boolean {
  return findRefusal(tool, policy) === undefined;
}

export function findRefusal(tool: AnyTool, policy: ToolPolicy): Refusal | undefined {
  return refusalOf(subjectOf(tool), policy);
}

/** Whether an entry of a deny list would concern the tool. */
export function appliesTo(entry: string, tool: AnyTool): boolean {
  return matches(entry, subjectOf(tool));
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
      ownNames: isForeign ? own : undefined,
    };
    subjects.set(tool, subject);
  }
  return subject;
}

function refusalOf(subject: Subject, policy: ToolPolicy): Refusal | undefined {
  const { profile, allow, alsoAllow = [], deny, profiles } = policy;
  const denied = deny?.find((entry) => matches(entry, subject));
  if (denied !== undefined) return { list: "deny", entry: denied, reason: `denies it by "${denied}"` };
  const admits = subject.ownNames ? admitsOwnName : matches;
  const holds = (list: readonly string[]): boolean => list.some((entry) => admits(entry, subject));
  if (profile !== undefined && !holds(profileNamed(profile, profiles)) && !holds(alsoAllow)) {
    return { list: "profile", reason: `has the profile "${profile}", which does not hold it` };
  }
  if (allow && allow.length > 0 && !holds(allow)) return { list: "allow", reason: "does not name it under allow" };
  return undefined;
}

function matches(entry: string, { names, groups }: Subject): boolean {
  const { members, name } = readEntry(entry);
  return members ? names.some((one) => members.has(one)) : isOneOf(name, names, groups);
}

function admitsOwnName(entry: string, { ownNames = [], groups }: Subject): boolean {
  const { members, folded } = readEntry(entry);
  return !members && isOneOf(folded, ownNames, groups);
}

/** An entry of a list: the members of a group, or one name, as it is and as it is normalised. */
interface Entry {
  members: ReadonlySet<string> | undefined;
  name: string;
  folded: string;
}

/** Lists are read at every call, and may change between two; what an entry means does not. */
const entries = new Map<string, Entry>();
const MAX_ENTRIES = 10_000;

function readEntry(text: string): Entry {
  let entry = entries.get(text);
  if (!entry) {
    const group = groupNamed(text);
    entry = { members: group && new Set(group), name: normalizeToolName(text), folded: foldToolName(text) };
    if (entries.size >= MAX_ENTRIES) entries.clear();
    entries.set(text, entry);
  }
  return entry;
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
