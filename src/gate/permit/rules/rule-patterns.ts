import type { AnyTool } from "../../../core/tool.ts";
import { toPlainData } from "../../../core/json.ts";
import { compileGlob, type GlobPattern } from "../../../io/files/glob-pattern.ts";
import { foldName } from "../../../io/files/path-name.ts";
import { findHiddenCharacter } from "../../../io/shell/terminal-text.ts";
import { isObject } from "../../../schema/json-schema.ts";
import type { PathBases, Subject, SubjectPath } from "./rule-subject.ts";

/** What a path rule is relative to: the root, the home folder, the folder of its file, or the working folder. */
type Base = "root" | "home" | "source" | "cwd";

export interface PathPattern {
  matches(path: SubjectPath, bases: PathBases): boolean;
  /** For deny and ask rules: whether the path is a folder that contains a match. */
  isParentOf(path: SubjectPath, bases: PathBases): boolean;
  /** The same for a search: see `DenyRule` of files/. */
  glob(bases: PathBases): string;
}

/**
 * A pattern as in .gitignore. To allow, both the path and its real path must match, and `src/**` means the one
 * in the working folder; to deny, either is enough, `src/**` means any depth, and case and Unicode forms are folded.
 */
export function compilePathPattern(spec: string, list: "forbid" | "allow"): PathPattern {
  const { base, rest } = splitBase(spec);
  const forbids = list === "forbid";
  const isBare = base === "cwd" && !spec.startsWith("./");
  const floats = isBare && (forbids || !/\/./.test(rest));
  const text = forbids ? foldName(rest) : rest;
  const globs = globsOf(text, forbids).map((glob) => compileGlob(floats ? `**/${glob}` : glob));
  const anywhere = floats && forbids;
  const needle = longestLiteral(text);
  const fixed = fixedPart(text);
  const fold = forbids ? foldName : (name: string) => name;
  const basesOf = baseReader(base, fold);

  const matchesName = (name: string, bases: PathBases): boolean => {
    if (!name.includes(needle)) return false;
    if (anywhere) return matchesAny(globs, name.slice(1));
    for (const folder of basesOf(bases)) {
      const below = belowFolder(name, folder);
      if (below !== undefined && matchesAny(globs, below)) return true;
    }
    return false;
  };
  return {
    matches(path, bases) {
      const name = forbids ? path.foldedName() : path.name;
      const byName = matchesName(name, bases);
      // To deny, one is enough; to allow, both are needed.
      if (byName === forbids) return byName;
      const real = forbids ? path.foldedReal() : path.real();
      return real === name ? byName : matchesName(real, bases);
    },
    isParentOf(path, bases) {
      const names = [path.foldedName(), path.foldedReal()];
      return basesOf(bases).some((folder) =>
        names.some(
          (name) => name.length < folder.length + fixed.length + 1 && `${folder}/${fixed}`.startsWith(`${name}/`),
        ),
      );
    },
    glob: (bases) => {
      const pattern = rest.replace(/\/(?:\*\*)?$/, "");
      const [folder = "/"] = foldersOf(base, bases);
      return isBare ? pattern : `${folder === "/" ? "" : folder}/${pattern}`;
    },
  };
}

function splitBase(spec: string): { base: Base; rest: string } {
  if (spec.startsWith("//")) return { base: "root", rest: spec.replace(/^\/+/, "") };
  if (spec === "~" || spec.startsWith("~/")) return { base: "home", rest: spec.slice(2) };
  if (spec.startsWith("/")) return { base: "source", rest: spec.slice(1) };
  return { base: "cwd", rest: spec.replace(/^(?:\.\/)+/, "") };
}

/** A matched folder includes its content; if a wildcard matched it, only for deny and ask rules. */
function globsOf(rest: string, forbids: boolean): string[] {
  if (rest === "") return ["**"];
  if (rest.endsWith("/")) return [...(forbids ? [rest.slice(0, -1)] : []), `${rest}**`];
  const [, folder] = /^(.+)\/\*\*$/.exec(rest) ?? [];
  if (folder !== undefined) return forbids ? [folder, rest] : [rest];
  const isOpen = /[*?[{]/.test(rest.slice(rest.lastIndexOf("/") + 1));
  return isOpen && !forbids ? [rest] : [rest, `${rest}/**`];
}

function matchesAny(globs: readonly GlobPattern[], path: string): boolean {
  for (const glob of globs) if (glob.matches(path)) return true;
  return false;
}

/** Text that every match contains: a quick test that excludes most paths. */
function longestLiteral(rest: string): string {
  if (/[{\\]/.test(rest)) return "";
  const plain = rest.split("/").filter((part) => !/[*?[]/.test(part) && part !== "." && part !== "..");
  return plain.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

function fixedPart(rest: string): string {
  const parts = rest.split("/");
  const wild = parts.findIndex((part) => /[*?[{\\]/.test(part));
  return (wild < 0 ? parts : parts.slice(0, wild)).filter(Boolean).join("/");
}

function belowFolder(path: string, folder: string): string | undefined {
  if (folder === "/") return path.slice(1);
  return path.startsWith(folder) && path[folder.length] === "/" ? path.slice(folder.length + 1) : undefined;
}

const ROOT: readonly string[] = ["/"];

/** The folder by its path and its real path: the workspace itself may be a link. */
function foldersOf(base: Base, { cwd, home, source }: PathBases): readonly string[] {
  switch (base) {
    case "root":
      return ROOT;
    case "home":
      return home;
    case "source":
      return source ?? cwd;
    case "cwd":
      return cwd;
  }
}

/** Folded once per list of folders: they stay the same from call to call. */
function baseReader(base: Base, fold: (name: string) => string): (bases: PathBases) => readonly string[] {
  let of: readonly string[] | undefined;
  let folded: readonly string[] = [];
  return (bases) => {
    const folders = foldersOf(base, bases);
    if (folders !== of) [of, folded] = [folders, folders.map(fold)];
    return folded;
  };
}

/**
 * `domain:example.com` is only that host, `domain:*.example.com` every subdomain, `domain:*` all. To allow, a `*` may
 * only be at the beginning: the owner of a name's end owns the name.
 */
export function compileHostPattern(spec: string, list: "forbid" | "allow"): TextMatcher | undefined {
  const pattern = /^domain:(.+)$/i.exec(spec.trim())?.[1]?.toLowerCase().replace(/\.$/, "");
  if (pattern === undefined) return undefined;
  if (list === "allow" && hasWildcard(pattern.replace(/^\*(?:\.|$)/, ""))) return () => false;
  const matches = compileWildcard(pattern);
  return (url) => {
    const host = hostOf(url);
    return host !== undefined && matches(host);
  };
}

export function hostOf(url: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(url);
    return /^(?:https?|wss?):$/.test(protocol) ? hostname.toLowerCase().replace(/\.$/, "") : undefined;
  } catch {
    return undefined;
  }
}

export interface ParameterPattern {
  name: string;
  value: TextMatcher;
}

/** `Tool(model:opus*)`: one parameter and its value. `name:*` stays a pattern of commands, as in `Bash(env:*)`. */
export function parseParameterPattern(spec: string): ParameterPattern | undefined {
  const [, name, value] = /^([A-Za-z_][\w-]*):(.+)$/s.exec(spec) ?? [];
  return name === undefined || value === undefined || value === "*" || name === "domain"
    ? undefined
    : { name, value: compileWildcard(value.trim()) };
}

export function hasParameter(tool: AnyTool, name: string): boolean {
  return propertyNames(tool).has(tool.parameterAliases.get(name) ?? name);
}

/**
 * Undefined if the tool has no such parameter: then it is no parameter rule. What the tool's signature already
 * contains (the command, a path) is matched only by the signature, which resolves wrappers and links. A list or an object
 * is "unknown": it may contain the value.
 */
export function matchParameter({ name, value }: ParameterPattern, subject: Subject): boolean | "unknown" | undefined {
  const { tool, input } = subject;
  if (!hasParameter(tool, name)) return undefined;
  const given = isObject(input) ? input[tool.parameterAliases.get(name) ?? name] : undefined;
  if (given === undefined || given === null || isInSignature(given, subject)) return false;
  if (typeof given !== "object") return value(String(given));
  return value(JSON.stringify(toPlainData(given).value)) || "unknown";
}

function isInSignature(given: unknown, { command, reads, changes, urls }: Subject): boolean {
  if (typeof given !== "string") return false;
  return given === command?.text || urls.includes(given) || [...reads, ...changes].some((path) => path.given === given);
}

const known = new WeakMap<AnyTool, ReadonlySet<string>>();

/** The tool's parameter names, as far as its schema lists them. */
export function propertyNames(tool: AnyTool): ReadonlySet<string> {
  let names = known.get(tool);
  if (!names) {
    const { properties } = tool.parameters.jsonSchema as { properties?: unknown };
    names = new Set(typeof properties === "object" && properties !== null ? Object.keys(properties) : []);
    known.set(tool, names);
  }
  return names;
}

export type TextMatcher = (text: string) => boolean;

/**
 * `*` matches any characters, also blanks and line breaks; `\*` is a star. A final ` *` is a word
 * boundary: `ls *` matches `ls` and `ls -l`, never `lsof`. Linear time, even for a hostile pattern. Without a star, `<number>` is one
 * of digits, `<name>` one of letters, digits and `_`, `<id>` one of letters and digits, and `<hex>` one of hexadecimal digits: none reaches another word, folder, option
 * or host. `\<name>` is that text.
 */
export function compileWildcard(pattern: string): TextMatcher {
  if (hasPlaceholder(pattern)) return compilePlaceholders(pattern);
  const pieces = splitAtStars(pattern);
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  if (rest.length === 0 && last === "" && first.endsWith(" ")) {
    const words = first.slice(0, -1);
    return (text) => text.startsWith(words) && (text.length === words.length || text[words.length] === " ");
  }
  const isBorder = last === "" && (rest.at(-1)?.endsWith(" ") ?? false);
  return (text) =>
    matchesPieces(text, first, rest, last) ||
    (isBorder && matchesPieces(text, first, rest.slice(0, -1), (rest.at(-1) as string).slice(0, -1)));
}

const PLACEHOLDER = /(?<!\\)<(number|name|id|hex)>/;
const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  number: { first: charactersOf(/[0-9]/), all: charactersOf(/[0-9]/), max: 15 },
  name: { first: charactersOf(/[A-Za-z]/), all: charactersOf(/[A-Za-z0-9_]/), max: 64 },
  id: { first: charactersOf(/[A-Za-z0-9]/), all: charactersOf(/[A-Za-z0-9]/), max: 64 },
  hex: { first: charactersOf(/[0-9A-Fa-f]/), all: charactersOf(/[0-9A-Fa-f]/), max: 64 },
};

interface Placeholder {
  /** What the first character is, and what each is. */
  first: readonly boolean[];
  all: readonly boolean[];
  max: number;
}

function charactersOf(one: RegExp): boolean[] {
  return Array.from({ length: 128 }, (_, code) => one.test(String.fromCharCode(code)));
}

function hasPlaceholder(pattern: string): boolean {
  return PLACEHOLDER.test(pattern) && splitAtStars(pattern).length === 1;
}

/** Part by part, where each may end: a pattern with many placeholders beside each other is not slower than another one. */
function compilePlaceholders(pattern: string): TextMatcher {
  const parts = pattern.split(PLACEHOLDER).map((part, at) => (at % 2 === 1 ? PLACEHOLDERS[part]! : literalOf(part)));
  return (text) => {
    let ends = [0];
    for (const part of parts) {
      if (typeof part !== "string") ends = endsOf(part, text, ends);
      else ends = ends.filter((at) => text.startsWith(part, at)).map((at) => at + part.length);
      if (ends.length === 0) return false;
    }
    return ends.at(-1) === text.length;
  };
}

/** Where a placeholder ends that begins at one of these places. Both are in ascending order. */
function endsOf({ first, all, max }: Placeholder, text: string, starts: readonly number[]): number[] {
  const ends: number[] = [];
  let next = 0;
  /** The nearest beginning from which all characters belong to it. */
  let from: number | undefined;
  for (let at = starts[0] ?? text.length; at < text.length && (from !== undefined || next < starts.length); at++) {
    const code = text.charCodeAt(at);
    if (starts[next] === at) {
      next++;
      if (first[code]) from = at;
    }
    if (from === undefined) continue;
    if (at - from < max && all[code]) ends.push(at + 1);
    else from = undefined;
  }
  return ends;
}

/** Whether a text with this beginning may match the pattern. */
export function compileOpening(pattern: string): TextMatcher {
  const [first = "", ...rest] = hasPlaceholder(pattern)
    ? pattern.split(PLACEHOLDER).map(literalOf)
    : splitAtStars(pattern);
  return (opening) => first.startsWith(opening.trimEnd()) || (rest.length > 0 && opening.startsWith(first));
}

const MAX_PLAIN = 4000;
/** A dot or colon before a letter is of an address, and a hyphen before a word is of an option. */
const PLAIN =
  /^(?:[\p{L}\p{Mn}\p{Mc}\p{N} \n!?,()"'’“”„«»#%€£–—，、！？；（）「」《》]|[.:。：](?![\p{L}_])|-(?![\p{L}-])|(?<=[\p{L}\p{N}])[-/](?=[\p{L}\p{N}])|(?<= )&(?= |$))+$/u;

/** `<text>` in a condition: sentences without code, addresses, links, options and hidden characters. */
export function isPlainText(text: string): boolean {
  return text.length <= MAX_PLAIN && text.trim() !== "" && PLAIN.test(text) && findHiddenCharacter(text) === undefined;
}

export function hasWildcard(pattern: string): boolean {
  return splitAtStars(pattern).length > 1 || hasPlaceholder(pattern);
}

/** A pattern that matches only this text. */
export function escapeWildcard(text: string): string {
  return text.replace(/\*|<(?:number|name|id|hex)>/g, "\\$&");
}

function literalOf(text: string): string {
  return text.replace(/\\(\*|<(?:number|name|id|hex)>)/g, "$1");
}

function splitAtStars(pattern: string): string[] {
  const pieces = pattern.split(/(?<!\\)\*+/);
  return pieces.length === 1 ? [literalOf(pattern)] : pieces.map((piece) => piece.replaceAll("\\*", "*"));
}

/** Between two stars the leftmost match is enough: no backtracking. */
function matchesPieces(text: string, first: string, middle: readonly string[], last: string): boolean {
  const until = text.length - last.length;
  if (until < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of middle) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > until) return false;
    at = found + piece.length;
  }
  return true;
}
