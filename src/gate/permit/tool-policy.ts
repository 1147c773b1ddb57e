import { checkKeys, keysOf } from "../../core/options.ts";
import type { AnyTool } from "../../core/tool.ts";
import {
  foldToolName,
  groupNamed,
  normalizeToolName,
  groupsOf,
  type ProfileName,
  profileNamed,
  type Profiles,
} from "./tool-groups.ts";

/** Which tools exist for a caller. Every list has names, groups and `*` patterns; deny wins. */
export interface ToolPolicy {
  /** The profile: a named set of tools to start from. */
  profile?: ProfileName;
  /** Names, patterns and groups; if present, all others are excluded. */
  allow?: readonly string[];
  /** Added to what the profile allows. */
  alsoAllow?: readonly string[];
  /** Names, patterns and groups; wins over `allow`. */
  deny?: readonly string[];
  /** The user's own profiles, by name. */
  profiles?: Profiles;
}

const POLICY_KEYS = keysOf<ToolPolicy>({
  profile: true,
  allow: true,
  alsoAllow: true,
  deny: true,
  profiles: true,
});

/** A policy with an unknown key is an error: a misspelt `deny` would deny nothing. */
export function checkToolPolicy(what: string, policy: ToolPolicy | undefined): void {
  checkKeys(what, policy, POLICY_KEYS);
}

/** Why a policy refuses a tool: the list, and for the deny list the entry. */
export interface Refusal {
  list: "deny" | "profile" | "allow";
  entry?: string;
  reason: string;
}

/** Decides by the name only. For a tool of a runtime, use the function that takes the tool. */
export function isToolAllowedByPolicy(toolName: string, policy: ToolPolicy): boolean {
  const names = [normalizeToolName(toolName)];
  return refusalOf({ names, groups: [], allowing: names, allowingByPattern: names }, policy) === undefined;
}

/** Any of a tool's names on the deny list denies it; any of its names on the allow list allows it. */
export function isToolAllowed(tool: AnyTool, policy: ToolPolicy): boolean {
  return findRefusal(tool, policy) === undefined;
}

export function findRefusal(tool: AnyTool, policy: ToolPolicy): Refusal | undefined {
  return refusalOf(subjectOf(tool), policy);
}

/** Whether an entry of a deny list matches the tool. */
export function appliesTo(entry: string, tool: AnyTool): boolean {
  return matches(entry, subjectOf(tool));
}

interface Subject {
  names: readonly string[];
  groups: readonly string[];
  /** Those of a tool of Haft or of the program that may allow it. */
  allowing: readonly string[];
  /** Those that a `*` may allow: an alias of another program can be anything. */
  allowingByPattern: readonly string[];
  /** For an external tool: its names as they are. The name of a built-in tool can deny it, but never allows it. */
  ownNames?: readonly string[];
}

const subjects = new WeakMap<AnyTool, Subject>();

function subjectOf(tool: AnyTool): Subject {
  let subject = subjects.get(tool);
  if (!subject) {
    const all = [tool.name, ...tool.aliases, `${tool.name}@${tool.version}`];
    const own = all.map(foldToolName);
    const parts = new Set(tool.builtIn?.partlyKnownAs);
    const whole = all.filter((name) => !parts.has(name));
    const main = [tool.name, ...Object.values(tool.dialects).flatMap(({ name = [] }) => name)];
    const namesOf = (names: readonly string[]): string[] => [
      ...new Set([...names.map(normalizeToolName), ...names.map(foldToolName)]),
    ];
    const isForeign = tool.origin.type !== "builtin" && tool.origin.type !== "own";
    subject = {
      names: namesOf([...all, ...parts]),
      allowing: namesOf(whole),
      allowingByPattern: namesOf(tool.builtIn ? main : whole),
      groups: groupsOf(tool),
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
  const admits = subject.ownNames ? admitsOwnName : admitsName;
  const holds = (list: readonly string[]): boolean => list.some((entry) => admits(entry, subject));
  if (profile !== undefined && !holds(profileNamed(profile, profiles)) && !holds(alsoAllow)) {
    return { list: "profile", reason: `has the profile "${profile}", which does not contain it` };
  }
  if (allow && allow.length > 0 && !holds(allow)) return { list: "allow", reason: "does not list it under allow" };
  return undefined;
}

function matches(entry: string, { names, groups }: Subject): boolean {
  const { members, name } = readEntry(entry);
  return (members !== undefined && names.some((one) => members.has(one))) || isOneOf(name, names, groups);
}

function admitsName(entry: string, { allowing, allowingByPattern, groups }: Subject): boolean {
  const { members, name } = readEntry(entry);
  if (members !== undefined && allowing.some((one) => members.has(one))) return true;
  return isOneOf(name, name.includes("*") ? allowingByPattern : allowing, groups);
}

function admitsOwnName(entry: string, { ownNames = [], groups }: Subject): boolean {
  const { members, folded } = readEntry(entry);
  return !members && isOneOf(folded, ownNames, groups);
}

/** An entry of a list: the members of a group, or one name, as written and normalized. */
interface Entry {
  members: ReadonlySet<string> | undefined;
  name: string;
  folded: string;
}

/** Parsed entries are cached. The lists themselves may change between calls. */
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

/** `*` matches any characters. Linear time, even for a hostile pattern. */
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
