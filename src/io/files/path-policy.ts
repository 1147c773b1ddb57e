import { join, resolve } from "node:path";
import picomatch from "picomatch";
import type { Files } from "./files.ts";
import { EXECUTED_NAMES } from "./executed-names.ts";
import { expandHome, foldName, isInside, realRoot, realRoots } from "./path-name.ts";
import { isGitConfigWithSecret, nameBeforeCopy, SECRET_GLOBS, SECRET_GLOBS_WITH_EXCEPTIONS } from "./secret-paths.ts";

export { isInside, isPathAllowed } from "./path-name.ts";

export interface PathPolicyOptions {
  workspace: string;
  /** What may be read and written. Default: the workspace. An empty list means nothing. */
  allowedPaths?: readonly string[];
  /** May be read but not written. The deepest matching path decides. */
  readOnlyPaths?: readonly string[];
  /** Denied for reading and writing, in addition to the default rules. */
  denyGlobs?: readonly string[];
  /** Exceptions from all deny rules. Set by the owner of the workspace, never by a model. */
  permitGlobs?: readonly string[];
  /** Allow the whole file system. Deny rules still apply, and device trees stay refused. */
  unrestricted?: boolean;
  /** The runtime's own folders. Closed for reading and writing; `permitGlobs` does not open them. */
  privatePaths?: readonly string[];
}

interface Root {
  path: string;
  writable: boolean;
}

/** Rules for real absolute paths. Every layer must allow a path; narrowing adds a layer. */
export interface PathPolicy {
  readonly workspace: string;
  readonly layers: readonly (readonly Root[])[];
  readonly denials: Denials;
  /** What the owner denies (`denyGlobs`), without the default rules. No command may read it, approved or not. */
  readonly owner: { readonly globs: readonly string[]; readonly denials: Denials };
  /** Real paths. */
  readonly privatePaths: readonly string[];
}

export type PathRefusal =
  | { reason: "outside" }
  | { reason: "read_only" }
  | { reason: "special" }
  | { reason: "protected"; glob: string };

export function createPathPolicy(options: PathPolicyOptions): PathPolicy {
  const workspace = realRoot(options.workspace, process.cwd());
  const writable = options.unrestricted ? ["/"] : (options.allowedPaths ?? [workspace]);
  const denyRules = (options.denyGlobs ?? []).map((glob): DenyRule => ({ glob: realGlob(glob, workspace), on: "all" }));
  const permitted = (options.permitGlobs ?? []).map((glob) => realGlob(glob, workspace));
  // Now, so that a glob that is no pattern fails here.
  for (const { glob } of denyRules) compileGlob(glob);
  return {
    workspace,
    layers: [
      [
        ...realRoots(writable, workspace).map((path) => ({ path, writable: true })),
        ...realRoots(options.readOnlyPaths ?? [], workspace).map((path) => ({ path, writable: false })),
      ],
    ],
    denials: withGitCredentials(compileDenials([...DEFAULT_DENY_RULES, ...denyRules], permitted), permitted),
    owner: { globs: denyRules.map(({ glob }) => glob), denials: compileDenials(denyRules, permitted) },
    privatePaths: withoutInner(realRoots(options.privatePaths ?? [], workspace)),
  };
}

/** Without paths that are inside another one. */
export function withoutInner(paths: readonly string[]): string[] {
  const unique = [...new Set(paths)];
  return unique.filter((path) => !unique.some((other) => other !== path && isInside(path, other)));
}

/** A policy that allows at most what the given one allows. If paths are omitted, it is unchanged. */
export function narrow(policy: PathPolicy, allowedPaths: readonly string[] | undefined): PathPolicy {
  if (allowedPaths === undefined) return policy;
  const layer = realRoots(allowedPaths, policy.workspace).map((path) => ({ path, writable: true }));
  return { ...policy, layers: [...policy.layers, layer] };
}

/** Null if the operation on the real path is allowed. */
export function checkPath(policy: PathPolicy, realPath: string, operation: PathOperation): PathRefusal | null {
  if (isSpecial(realPath)) return { reason: "special" };
  for (const layer of policy.layers) {
    const root = deepestRoot(layer, realPath);
    if (root === undefined) return { reason: "outside" };
    if (operation === "write" && !root.writable) return { reason: "read_only" };
  }
  const folded = policy.privatePaths.length === 0 ? "" : foldName(realPath);
  const own = policy.privatePaths.find((path) => isInside(folded, foldName(path)));
  if (own !== undefined) return { reason: "protected", glob: own };
  const glob = policy.denials({ real: realPath, below: belowWorkspace(policy, realPath) }, operation);
  return glob === null ? null : { reason: "protected", glob };
}

/** Whether the owner denies the real path, whatever its name says. */
export function isDeniedByOwner(policy: PathPolicy, realPath: string): boolean {
  const { globs, denials } = policy.owner;
  return globs.length > 0 && denials({ real: realPath, below: belowWorkspace(policy, realPath) }, "read") !== null;
}

/** Folders and files outside the workspace that hold what the owner denies. Real paths that may be missing. */
export function deniedOutside({ owner, workspace }: PathPolicy): string[] {
  const bases = owner.globs.filter((glob) => glob.startsWith("/")).map((glob) => picomatch.scan(glob).base || "/");
  return [...new Set(bases)].filter((base) => !isInside(base, workspace));
}

/** Whether the path is or contains an allowed root or a private folder. Such a folder is never deleted or moved. */
export function containsRoot(policy: PathPolicy, realPath: string): boolean {
  const kept = [policy.workspace, ...policy.layers.flat().map(({ path }) => path), ...policy.privatePaths];
  return kept.some((path) => isInside(path, realPath));
}

/** The allowed roots in a message, relative if they are in the workspace. */
export function describeAllowed(policy: PathPolicy): string {
  const admitted = policy.layers.flat().filter((root) => policy.layers.every((layer) => deepestRoot(layer, root.path)));
  const shown = admitted.map((root) => {
    const suffix = policy.layers.every((layer) => deepestRoot(layer, root.path)?.writable) ? "" : " (read only)";
    return showRoot(policy, root.path) + suffix;
  });
  return shown.length === 0 ? "none" : [...new Set(shown)].join(", ");
}

/** A path as shown to a model: relative if it is in the workspace. */
export function showPath(policy: PathPolicy, realPath: string): string {
  return isInside(realPath, policy.workspace) ? belowWorkspace(policy, realPath) || "." : realPath;
}

function showRoot(policy: PathPolicy, root: string): string {
  if (root === policy.workspace) return `"." (the workspace)`;
  return root === "/" ? "every path" : JSON.stringify(showPath(policy, root));
}

function deepestRoot(layer: readonly Root[], path: string): Root | undefined {
  let deepest: Root | undefined;
  for (const root of layer) {
    // Of two roots for the same folder the later one, which is read only, decides.
    if (isInside(path, root.path) && root.path.length >= (deepest?.path.length ?? 0)) deepest = root;
  }
  return deepest;
}

function belowWorkspace(policy: PathPolicy, path: string): string {
  if (path === policy.workspace) return "";
  // A workspace inside a folder such as `.claude/` is not protected for that reason.
  return isInside(path, policy.workspace) && policy.workspace !== "/"
    ? path.slice(policy.workspace.length + 1)
    : path.slice(1);
}

/** Kernel and device trees do not have ordinary files. Shared memory does. */
function isSpecial(path: string): boolean {
  if (isInside(path, "/dev/shm")) return false;
  return isInside(path, "/proc") || isInside(path, "/sys") || isInside(path, "/dev");
}

/** Deny rules match real paths, so links in the fixed beginning of a glob are resolved. */
function realGlob(glob: string, workspace: string): string {
  const expanded = expandHome(glob);
  if (!expanded.startsWith("/") && !expanded.startsWith("../")) return expanded;
  const { base, glob: pattern } = picomatch.scan(expanded);
  return pattern === "" ? realRoot(expanded, workspace) : join(realRoot(base, workspace), pattern);
}

export type PathOperation = "read" | "write";

interface DenyRule {
  /**
   * Without a slash it is matched against every name of the path, so it also covers the content of a folder. With a
   * slash it is matched against the path below the workspace, at any depth; with a leading slash against the real path.
   */
  glob: string;
  on: PathOperation | "all";
  /** In the same form as `glob`. Without a slash they are matched against the same name. */
  except?: readonly string[];
  /** Whether a copy of such a file, such as `NAME~`, is denied too. */
  andCopies?: boolean;
}

/** Always apply, except to paths that `permitGlobs` permits. They also apply to paths that do not exist yet. */
export const DEFAULT_DENY_RULES: readonly DenyRule[] = [
  ...SECRET_GLOBS_WITH_EXCEPTIONS.map((rule): DenyRule => ({ ...rule, on: "all", andCopies: true })),
  ...SECRET_GLOBS.map((glob): DenyRule => ({ glob, on: "all", andCopies: true })),
  ...EXECUTED_NAMES.filter(({ isRefused }) => isRefused).map(({ glob }): DenyRule => ({ glob, on: "write" })),
  // The user's own configuration, if the home folder is the workspace.
  { glob: ".config/haft", on: "all" },
  // The state of an earlier version, and what is left of it after the migration.
  { glob: ".haft", on: "all" },
  { glob: ".haft.migrated-*", on: "all" },
];

/** The glob that denies the operation on a path, or null. `below` is relative to the workspace. */
type Denials = (path: { real: string; below: string }, operation: PathOperation) => string | null;

export function compileDenials(rules: readonly DenyRule[], permitted: readonly string[] = []): Denials {
  const permits = permitted.map((glob) => compileGlob(glob).match);
  // At the first check: a start makes several policies, and most of them check no path.
  const compile = (operation: PathOperation) =>
    withFastReject(
      rules
        .filter(({ on }) => on === "all" || on === operation)
        .map((rule) => ({
          glob: rule.glob,
          andCopies: rule.andCopies === true,
          ...compileGlob(rule.glob),
          excepts: (rule.except ?? []).map((glob) => ({ byName: !glob.includes("/"), match: compileGlob(glob).match })),
        })),
    );
  const compiled: Partial<Record<PathOperation, ReturnType<typeof compile>>> = {};
  const isExcepted = (
    hit: string,
    folded: FoldedPath,
    { byName, match }: { byName: boolean; match: CompiledGlob["match"] },
  ) => match(byName ? { real: "", below: "", names: [hit, nameBeforeCopy(hit)] } : folded).length > 0;
  return (path, operation) => {
    const { candidates, quickNo } = (compiled[operation] ??= compile(operation));
    const folded = foldPath(path);
    const denies = (place: FoldedPath, isCopy: boolean) =>
      quickNo(place)
        ? undefined
        : candidates.find(
            ({ match, excepts, andCopies }) =>
              (andCopies || !isCopy) &&
              match(place).some((hit) => !excepts.some((except) => isExcepted(hit, place, except))),
          );
    const original = beforeCopy(folded);
    const denied = denies(folded, false) ?? (original && denies(original, true));
    return denied === undefined || permits.some((permit) => permit(folded).length > 0) ? null : denied.glob;
  };
}

function foldPath({ real, below }: { real: string; below: string }): FoldedPath {
  const folded = foldName(below);
  return { real: foldName(real), below: folded, names: folded.split("/") };
}

/** The place of the file that this one is a copy of, or undefined if its names are no copies. */
function beforeCopy({ real, names }: FoldedPath): FoldedPath | undefined {
  const originals = names.map(originalName);
  if (originals.every((name, at) => name === names[at])) return undefined;
  // The first dot of `.npmrc.swp` belongs to the file: editors hide only the copies of files that are not hidden.
  const hidden = originals.filter((name, at) => names[at]?.startsWith(".") && !name.startsWith("."));
  return { real, below: originals.join("/"), names: [...originals, ...hidden.map((name) => `.${name}`)] };
}

/** The configuration of a repository is a secret if it contains a password. Only its content tells. */
function withGitCredentials(byName: Denials, permitted: readonly string[]): Denials {
  const isPermitted = compileDenials(permitted.map((glob) => ({ glob, on: "all" })));
  return (path, operation) => {
    const glob = byName(path, operation);
    if (glob !== null || operation === "write" || !isGitConfigWithSecret(path.real)) return glob;
    return isPermitted(path, operation) === null ? ".git/config with a password" : null;
  };
}

/** Paths have the same folders again and again. */
function remembered<T>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const verdict = judge(name);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(name, verdict);
    return verdict;
  };
}

const MAX_REMEMBERED = 2000;
const originalName = remembered(nameBeforeCopy);

/** A fast check: nearly every path matches no rule, and the majority of rules are plain names. */
function withFastReject<Rule extends CompiledGlob>(candidates: readonly Rule[]) {
  const plain = new Set(candidates.filter((rule) => rule.isPlainName).map((rule) => rule.folded));
  // `*.pem`: looked up by the ends of a name.
  const isEnding = ({ kind, folded }: Rule): boolean => kind === "name" && /^\*\.[\w.-]+$/.test(folded);
  const endings = new Set(candidates.filter(isEnding).map(({ folded }) => folded.slice(1)));
  const hasEnding = (part: string): boolean => {
    for (let at = part.indexOf("."); at >= 0; at = part.indexOf(".", at + 1))
      if (endings.has(part.slice(at))) return true;
    return false;
  };
  const any = (kind: CompiledGlob["kind"]) => {
    const sources = candidates
      .filter((rule) => rule.kind === kind && !rule.isPlainName && !isEnding(rule))
      .map((rule) => rule.pattern.source);
    return sources.length === 0 ? /$^/ : new RegExp(sources.join("|"), "s");
  };
  const [name, below, real] = [any("name"), any("below"), any("real")];
  const isNamed = remembered((part) => plain.has(part) || hasEnding(part) || name.test(part));
  const fixedNames = candidates.filter(({ kind }) => kind === "below").map(({ folded }) => fixedNameOf(folded));
  // Every such rule needs a certain name somewhere in the path, so the long expression is rarely needed.
  const needed = fixedNames.every((one) => one !== undefined) ? new Set(fixedNames) : undefined;
  return {
    candidates,
    quickNo: (path: FoldedPath) =>
      !path.names.some(isNamed) &&
      !((!needed || path.names.some((part) => needed.has(part))) && below.test(path.below)) &&
      !real.test(path.real),
  };
}

/** A name that every path has that matches the glob, or undefined if there is none. */
function fixedNameOf(glob: string): string | undefined {
  const hasChoiceOfPaths = /[{(][^})]*\//.test(glob);
  return hasChoiceOfPaths ? undefined : glob.split("/").find((part) => part !== "" && !isGlob(part));
}

interface FoldedPath {
  real: string;
  below: string;
  names: readonly string[];
}

interface CompiledGlob {
  folded: string;
  kind: "name" | "below" | "real";
  isPlainName: boolean;
  pattern: RegExp;
  /** The names that match, or the path if it does. */
  match(path: FoldedPath): string[];
}

/** Every policy has the same default rules. */
const compileGlob = remembered((glob): CompiledGlob => {
  const folded = foldName(glob)
    .replace(/\/+$/, "")
    .replace(/^(\.\/)+/, "");
  if (!folded.includes("/")) {
    const pattern = compilePattern(folded, { literal: ["^", "$"], glob: ["", ""] });
    const match = ({ names }: FoldedPath) => names.filter((name) => pattern.test(name));
    return { folded, kind: "name", isPlainName: !isGlob(folded), pattern, match };
  }
  const kind = folded.startsWith("/") ? "real" : "below";
  const [anywhere, anywhereGlob] = kind === "real" ? ["", ""] : ["(?:.*/)?", "{,**/}"];
  const pattern = compilePattern(folded, { literal: [`^${anywhere}`, "(?:/.*)?$"], glob: [anywhereGlob, "{,/**}"] });
  return { folded, kind, isPlainName: false, pattern, match: (path) => (pattern.test(path[kind]) ? [path[kind]] : []) };
});

type Around = readonly [before: string, after: string];

function compilePattern(text: string, around: { literal: Around; glob: Around }): RegExp {
  // Also literally, so a folder named `[id]` can be denied by its name.
  const literal = around.literal.join(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const forms = isGlob(text) ? [literal, picomatch.makeRe(around.glob.join(text), { dot: true }).source] : [literal];
  // `s`: a line break is an ordinary character in a name.
  return new RegExp(forms.join("|"), "s");
}

function isGlob(text: string): boolean {
  return /[*?[\]{}()!+@\\]/.test(text);
}

let secrets: Denials | undefined;

/** Whether a path, at any depth, has the name of a file for keys or passwords. */
export function isSecretName(path: string): boolean {
  secrets ??= compileDenials(DEFAULT_DENY_RULES);
  const below = path.replace(/^\/+/, "");
  return secrets({ real: `/${below}`, below }, "read") !== null;
}

/**
 * Whether its content may be confidential: secrets that the owner has permitted, and everything outside the workspace.
 */
export function isSensitivePath(files: Pick<Files, "policy" | "realPath">, path: string): boolean {
  const { workspace } = files.policy;
  let real = resolve(workspace, expandHome(path));
  try {
    real = files.realPath(path);
  } catch {
    // Not readable or missing: only the name can be checked.
  }
  if (!isInside(real, workspace)) return true;
  return isSecretName(real.slice(workspace.length));
}
