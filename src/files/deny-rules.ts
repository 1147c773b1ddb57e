import picomatch from "picomatch";
import { EXECUTED_NAMES } from "./executed-names.ts";
import { foldName } from "./fold-name.ts";

export type PathOperation = "read" | "write";

export interface DenyRule {
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
export type Denials = (path: { real: string; below: string }, operation: PathOperation) => string | null;

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
