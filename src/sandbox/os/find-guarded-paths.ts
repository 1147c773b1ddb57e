import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { checkPath, type PathPolicy } from "../../files/path-policy.ts";
import { isSecretName } from "../../files/sensitive-path.ts";

/** What a confined command must not see, and what it must not change. Real paths that exist. */
export interface GuardedPaths {
  hidden: readonly string[];
  readOnly: readonly string[];
  /** May be changed inside, and not be moved away to put another one into its place. */
  pinned: readonly string[];
}

/** Where people keep keys, below their home folder. */
const SECRET_PATHS = [
  ".ssh",
  ".gnupg",
  ".password-store",
  ".aws",
  ".azure",
  ".kube",
  ".docker/config.json",
  ".config/gcloud",
  ".config/gh",
  ".config/haft",
  ".config/op",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".vault-token",
  ".terraformrc",
  ".terraform.d/credentials.tfrc.json",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
];

/** Sockets through which somebody else would do what the command may not, and tables of passwords. */
const SYSTEM_SECRETS = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh"];

const MAX_DEPTH = 6;
const MAX_ENTRIES = 20_000;
const RUN_BY_GIT = ["hooks", "config", "config.worktree", "info", "modules"];
/** Large, and full of names that mean nothing. */
const SKIPPED = new Set(["node_modules", "objects"]);

/** Looks through the workspace for what its policy guards. */
export function findGuardedPaths(policy: PathPolicy, home: string = homedir()): GuardedPaths {
  const hidden = [...SECRET_PATHS.map((place) => join(home, place)), ...SYSTEM_SECRETS].filter((path) =>
    existsSync(path),
  );
  const readOnly: string[] = [];
  const pinned: string[] = [];
  let left = MAX_ENTRIES;

  const walk = (folder: string, depth: number): void => {
    for (const entry of entriesOf(folder)) {
      if (--left < 0) return;
      const path = join(folder, entry.name);
      // A link leads to what is guarded by its own name; where it lies, it may be replaced.
      if (entry.isSymbolicLink()) continue;
      if (entry.name === ".git" && entry.isDirectory()) guardRepository(path);
      else if (checkPath(policy, path, "read")?.reason === "protected") hidden.push(path);
      else if (checkPath(policy, path, "write")?.reason === "protected") readOnly.push(path);
      else if (entry.isDirectory() && depth < MAX_DEPTH && !SKIPPED.has(entry.name)) walk(path, depth + 1);
    }
  };
  /** Commits are made in it; what makes git run programs stays as it is. */
  function guardRepository(path: string): void {
    pinned.push(path);
    readOnly.push(...RUN_BY_GIT.map((name) => join(path, name)).filter((one) => existsSync(one)));
    // Where there is no folder of hooks, one could be made.
    if (!existsSync(join(path, "hooks"))) hidden.push(join(path, "hooks"));
  }

  walk(policy.workspace, 0);
  return { hidden: hidden.filter((path) => !isPermitted(policy, path)), readOnly, pinned };
}

/** The owner of the workspace has named it as one that may be read. */
function isPermitted(policy: PathPolicy, path: string): boolean {
  return checkPath(policy, path, "read") === null && isSecretName(path);
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
