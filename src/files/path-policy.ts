import { join } from "node:path";
import picomatch from "picomatch";
import { compileDenials, DEFAULT_DENY_RULES, type Denials, type DenyRule, type PathOperation } from "./deny-rules.ts";
import { expandHome, isInside, realRoot, realRoots } from "./is-path-allowed.ts";

export { isInside, isPathAllowed } from "./is-path-allowed.ts";

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
