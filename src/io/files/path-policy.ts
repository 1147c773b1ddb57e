import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import picomatch from "picomatch";
import type { Files } from "./files.ts";
import { EXECUTED_NAMES, expandHome, foldName, isInside, realRoot, realRoots } from "./path-name.ts";

export { isInside, isPathAllowed } from "./path-name.ts";

export interface PathPolicyOptions {
  workspace: string;
  /** What may be read and written; absent means the workspace, an empty list means nothing. */
  allowedPaths?: readonly string[];
  /** May be read, never written; the deepest path that is named decides. */
  readOnlyPaths?: readonly string[];
  /** Denied for reading and writing, besides the default rules. */
  denyGlobs?: readonly string[];
  /** Paths that no deny rule concerns: to be said by the owner of the workspace, never by a model. */
  permitGlobs?: readonly string[];
  /** The whole file system; deny rules and device trees stay refused. */
  unrestricted?: boolean;
}

interface Root {
  path: string;
  writable: boolean;
}

/** Rules about real absolute paths. A path must be admitted by every layer; narrowing adds a layer. */
export interface PathPolicy {
  readonly workspace: string;
  readonly layers: readonly (readonly Root[])[];
  readonly denials: Denials;
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
  return {
    workspace,
    layers: [
      [
        ...realRoots(writable, workspace).map((path) => ({ path, writable: true })),
        ...realRoots(options.readOnlyPaths ?? [], workspace).map((path) => ({ path, writable: false })),
      ],
    ],
    denials: compileDenials([...DEFAULT_DENY_RULES, ...denyRules], permitted),
  };
}

/** A policy that admits no path which the given one does not; absent paths change nothing. */
export function narrow(policy: PathPolicy, allowedPaths: readonly string[] | undefined): PathPolicy {
  if (allowedPaths === undefined) return policy;
  const layer = realRoots(allowedPaths, policy.workspace).map((path) => ({ path, writable: true }));
  return { ...policy, layers: [...policy.layers, layer] };
}

/** Null when the real path may be used so. */
export function checkPath(policy: PathPolicy, realPath: string, operation: PathOperation): PathRefusal | null {
  if (isSpecial(realPath)) return { reason: "special" };
  for (const layer of policy.layers) {
    const root = deepestRoot(layer, realPath);
    if (root === undefined) return { reason: "outside" };
    if (operation === "write" && !root.writable) return { reason: "read_only" };
  }
  const glob = policy.denials({ real: realPath, below: belowWorkspace(policy, realPath) }, operation);
  return glob === null ? null : { reason: "protected", glob };
}

/** Is the path an allowed root, or does it contain one? Such a folder is never deleted or moved. */
export function containsRoot(policy: PathPolicy, realPath: string): boolean {
  return isInside(policy.workspace, realPath) || policy.layers.flat().some((root) => isInside(root.path, realPath));
}

/** The roots in words for a model: relative to the workspace where they lie in it. */
export function describeAllowed(policy: PathPolicy): string {
  const admitted = policy.layers.flat().filter((root) => policy.layers.every((layer) => deepestRoot(layer, root.path)));
  const words = admitted.map((root) => {
    const suffix = policy.layers.every((layer) => deepestRoot(layer, root.path)?.writable) ? "" : " (read only)";
    return showRoot(policy, root.path) + suffix;
  });
  return words.length === 0 ? "none" : [...new Set(words)].join(", ");
}

/** As shown to a model: relative to the workspace where it lies in it. */
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
    // Of two roots for the same folder the read-only one, named later, decides.
    if (isInside(path, root.path) && root.path.length >= (deepest?.path.length ?? 0)) deepest = root;
  }
  return deepest;
}

function belowWorkspace(policy: PathPolicy, path: string): string {
  if (path === policy.workspace) return "";
  // A workspace that itself lies below, say, `.claude/` is not for that reason protected as a whole.
  return isInside(path, policy.workspace) && policy.workspace !== "/"
    ? path.slice(policy.workspace.length + 1)
    : path.slice(1);
}

/** Kernel and device trees: their files are not files. Shared memory is an ordinary file system. */
function isSpecial(path: string): boolean {
  if (isInside(path, "/dev/shm")) return false;
  return isInside(path, "/proc") || isInside(path, "/sys") || isInside(path, "/dev");
}

/** Deny rules compare real paths, so the fixed beginning of a glob is resolved once. */
function realGlob(glob: string, workspace: string): string {
  const expanded = expandHome(glob);
  if (!expanded.startsWith("/") && !expanded.startsWith("../")) return expanded;
  const { base, glob: pattern } = picomatch.scan(expanded);
  return pattern === "" ? realRoot(expanded, workspace) : join(realRoot(base, workspace), pattern);
}

export type PathOperation = "read" | "write";

interface DenyRule {
  /**
   * Without a slash it is matched against every name on the way down, so it covers a folder's contents too; with a
   * slash against the path below the workspace, at any depth; with a leading slash against the whole real path.
   */
  glob: string;
  on: PathOperation | "all";
  /** Same form as `glob`; for a glob without a slash they are matched against the same name. */
  except?: readonly string[];
}

const SECRETS = [
  ".env",
  ".envrc",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "*.ppk",
  ".ssh",
  ".gnupg",
  ".password-store",
  ".azure",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".htpasswd",
  ".dockercfg",
  ".git-credentials",
  ".vault-token",
  ".terraformrc",
  ".*_history",
  ".aws/credentials",
  ".aws/config",
  ".docker/config.json",
  ".kube/config",
  ".config/gcloud",
  ".config/gh/hosts.yml",
  ".cargo/credentials*",
  ".gem/credentials",
  ".terraform.d/credentials.tfrc.json",
  "/etc/{shadow,gshadow,sudoers}*",
];

/** Always in force unless a policy permits a path by name; they hold for paths that do not exist yet as well. */
export const DEFAULT_DENY_RULES: readonly DenyRule[] = [
  { glob: ".env.*", on: "all", except: [".env.{example,sample,template,dist}"] },
  { glob: "id_{rsa,dsa,ecdsa,ed25519}*", on: "all", except: ["*.pub"] },
  ...SECRETS.map((glob): DenyRule => ({ glob, on: "all" })),
  ...EXECUTED_NAMES.map((glob): DenyRule => ({ glob, on: "write" })),
  // Whom the user trusts, where the home folder is the workspace.
  { glob: ".config/haft", on: "all" },
  { glob: ".haft", on: "write" },
  { glob: ".haft", on: "read", except: [".haft/spill"] },
];

/** The glob that denies the operation on a path, or null. `below` is the path below the workspace, no leading slash. */
type Denials = (path: { real: string; below: string }, operation: PathOperation) => string | null;

export function compileDenials(rules: readonly DenyRule[], permitted: readonly string[] = []): Denials {
  const permits = permitted.map((glob) => compileGlob(glob).match);
  const compiled = rules.map((rule) => ({
    glob: rule.glob,
    on: rule.on,
    ...compileGlob(rule.glob),
    excepts: (rule.except ?? []).map((glob) => ({ byName: !glob.includes("/"), match: compileGlob(glob).match })),
  }));
  const byOperation = {
    read: withFastReject(compiled.filter(({ on }) => on !== "write")),
    write: withFastReject(compiled.filter(({ on }) => on !== "read")),
  };
  return (path, operation) => {
    const { candidates, quickNo } = byOperation[operation];
    const below = foldName(path.below);
    const folded = { real: foldName(path.real), below, names: below.split("/") };
    if (quickNo(folded)) return null;
    const isExcepted = (hit: string, { byName, match }: { byName: boolean; match: CompiledGlob["match"] }) =>
      match(byName ? { real: "", below: "", names: [hit] } : folded).length > 0;
    const denied = candidates.find(({ match, excepts }) =>
      match(folded).some((hit) => !excepts.some((except) => isExcepted(hit, except))),
    );
    return denied === undefined || permits.some((permit) => permit(folded).length > 0) ? null : denied.glob;
  };
}

/** Nearly every path matches no rule, and most rules are plain names: that is told at once. */
function withFastReject<Rule extends CompiledGlob>(candidates: readonly Rule[]) {
  const plain = new Set(candidates.filter((rule) => rule.isPlainName).map((rule) => rule.folded));
  const any = (kind: CompiledGlob["kind"]) => {
    const sources = candidates
      .filter((rule) => rule.kind === kind && !rule.isPlainName)
      .map((rule) => rule.pattern.source);
    return sources.length === 0 ? /$^/ : new RegExp(sources.join("|"), "s");
  };
  const [name, below, real] = [any("name"), any("below"), any("real")];
  return {
    candidates,
    quickNo: (path: FoldedPath) =>
      !path.names.some((part) => plain.has(part) || name.test(part)) &&
      !below.test(path.below) &&
      !real.test(path.real),
  };
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

function compileGlob(glob: string): CompiledGlob {
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
}

type Around = readonly [before: string, after: string];

function compilePattern(text: string, around: { literal: Around; glob: Around }): RegExp {
  // Also as plain text, so that a folder really called `[id]` is denied by its own name.
  const literal = around.literal.join(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const forms = isGlob(text) ? [literal, picomatch.makeRe(around.glob.join(text), { dot: true }).source] : [literal];
  // `s`: a line break is an ordinary character in a name, and must not end a match.
  return new RegExp(forms.join("|"), "s");
}

function isGlob(text: string): boolean {
  return /[*?[\]{}()!+@\\]/.test(text);
}

let secrets: Denials | undefined;

/** Whether a name is one that keys and passwords are kept under, wherever it lies. */
export function isSecretName(path: string): boolean {
  secrets ??= compileDenials(DEFAULT_DENY_RULES);
  const below = path.replace(/^\/+/, "");
  return secrets({ real: `/${below}`, below }, "read") !== null;
}

/**
 * Whether reading it brings what is not for everybody: secrets that the owner has permitted by name, and all that lies
 * outside of the workspace.
 */
export function isSensitivePath(files: Pick<Files, "policy" | "realPath">, path: string): boolean {
  const { workspace } = files.policy;
  let real = resolve(workspace, expandHome(path));
  try {
    real = files.realPath(path);
  } catch {
    // It may not be read, or is not there: its name is all there is to judge.
  }
  if (!isInside(real, workspace)) return true;
  return isSecretName(real.slice(workspace.length));
}

/** More is not looked at while a call waits to be judged. */
const MAX_ENTRIES = 2000;

/**
 * Whether something below a real path may not be read, as far as a short look tells; true also where there is too much
 * to look at, and where a link leads on. For deciding whether to ask, never for opening.
 */
export function containsDenied(policy: PathPolicy, realPath: string): boolean {
  const waiting = [realPath];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (++seen > MAX_ENTRIES || entry.isSymbolicLink() || checkPath(policy, path, "read") !== null) return true;
      if (entry.isDirectory()) waiting.push(path);
    }
  }
  return false;
}

/** Nothing lies below a file, and nothing is read from a folder that cannot be opened. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
