import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { type Clock, systemClock } from "../../core/clock.ts";
import type { Files } from "../files/files.ts";
import { checkPath, isInside, isSecretName, type PathPolicy } from "../files/path-policy.ts";
import { findProgram } from "../shell/find-program.ts";
import { bubblewrapArguments, findBubblewrap, PROXY_INSIDE, type SandboxState } from "./bubblewrap.ts";

export interface SandboxOptions {
  files: Pick<Files, "policy" | "narrow">;
  autoAllow?: boolean;
  /** Max memory of each process. Default: 4 GiB. */
  memoryBytes?: number;
  /** Max processes of the user; root is not limited. Default: 512. */
  processes?: number;
  /** The socket of a proxy that allows these hosts. If omitted, there is no network. */
  proxy?: { socketPath: string; hosts: readonly string[] };
  clock?: Clock;
  find?: () => SandboxState;
}

/** Scanning a workspace takes longer than a typical command, so the result is cached. */
const SCAN_TTL_MS = 5000;
const DEFAULT_MEMORY = 4 * 1024 * 1024 * 1024;
const DEFAULT_PROCESSES = 512;
const PROXY_PORT = 3128;

/** The sandbox for commands, or why this machine has none. */
export function openSandbox(options: SandboxOptions) {
  const { files, autoAllow = false, clock = systemClock, find = findBubblewrap } = options;
  const state = find();
  if (state.program === undefined) return { missing: state.why };
  const { program } = state;
  const socat = options.proxy && findProgram("socat", process.env);
  if (options.proxy && !socat)
    return { missing: "hosts are allowed, which needs socat (Debian, Ubuntu: apt install socat)" };
  let known: { guarded: GuardedPaths; at: number } | undefined;

  const guardedNow = (): GuardedPaths => {
    const now = clock.monotonic();
    if (!known || now - known.at > SCAN_TTL_MS) known = { guarded: findGuardedPaths(files.policy), at: now };
    return known.guarded;
  };

  return {
    confinement: {
      autoAllow,
      summary: `confined: writes only in the workspace and a private temporary folder, no secrets, ${
        options.proxy ? `network access only to ${options.proxy.hosts.join(", ")}` : "no network"
      }`,
      wrap(
        command: readonly string[],
        { cwd, terminal, allowedPaths }: { cwd: string; terminal: boolean; allowedPaths?: readonly string[] },
      ) {
        const { policy } = files.narrow(allowedPaths);
        const bubblewrapOptions = {
          cwd,
          terminal,
          writable: writableRoots(policy),
          guarded: guardedNow(),
          proxySocket: options.proxy?.socketPath,
        };
        return [program, ...bubblewrapArguments(bubblewrapOptions), ...limited(command, options, socat)];
      },
    },
  };
}

/** What every layer allows to write. If that is the whole system, commands are confined to the workspace. */
function writableRoots({ layers, workspace }: PathPolicy): string[] {
  const roots = layers.map((layer) => layer.filter(({ writable }) => writable).map(({ path }) => path));
  const admitted = roots.flat().filter((path) => roots.every((layer) => layer.some((root) => isInside(path, root))));
  return [...new Set(admitted.map((path) => (path === "/" ? workspace : path)))];
}

/** Limits and variables are inherited: a shell sets them and then executes the command. */
function limited(command: readonly string[], options: SandboxOptions, socat: string | undefined): string[] {
  const { memoryBytes = DEFAULT_MEMORY, processes = DEFAULT_PROCESSES } = options;
  const limits = `ulimit -d ${Math.floor(memoryBytes / 1024)}; ulimit -u ${processes} 2>/dev/null`;
  return ["/bin/sh", "-c", [limits, ...(socat ? bridge(socat) : []), 'exec "$@"'].join("\n"), "sh", ...command];
}

/** The sandbox has only its own loopback. A port of it is forwarded to the proxy's socket. */
function bridge(socat: string): string[] {
  const names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  return [
    `${socat} TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${PROXY_INSIDE} &`,
    `i=0; until ${socat} -u OPEN:/dev/null TCP:127.0.0.1:${PROXY_PORT} 2>/dev/null || [ $i -ge 100 ]; do i=$((i+1)); sleep 0.01; done`,
    ...names.map((name) => `export ${name}=http://127.0.0.1:${PROXY_PORT}`),
    "export NODE_USE_ENV_PROXY=1",
  ];
}

/** Real, existing paths that a confined command must not see or change. */
export interface GuardedPaths {
  hidden: readonly string[];
  readOnly: readonly string[];
  /** May be changed but not replaced by another folder. */
  pinned: readonly string[];
}

/** Keys and histories in the home folder. */
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

/** System files with passwords and keys. */
const SYSTEM_SECRETS = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh"];

const MAX_DEPTH = 6;
const MAX_ENTRIES = 20_000;
const RUN_BY_GIT = ["hooks", "config", "config.worktree", "info", "modules"];
/** Large folders without secrets. */
const SKIPPED_FOLDERS = new Set(["node_modules", "objects"]);

/** Scans the workspace for paths that its policy guards. */
function findGuardedPaths(policy: PathPolicy, home: string = homedir()): GuardedPaths {
  const hidden = [...SECRET_PATHS.map((path) => join(home, path)), ...SYSTEM_SECRETS].filter((path) =>
    existsSync(path),
  );
  const readOnly: string[] = [];
  const pinned: string[] = [];
  let left = MAX_ENTRIES;

  const walk = (folder: string, depth: number): void => {
    for (const entry of entriesOf(folder)) {
      if (--left < 0) return;
      const path = join(folder, entry.name);
      // The target of a link is guarded by its own path. The link itself may be replaced.
      if (entry.isSymbolicLink()) continue;
      if (entry.name === ".git" && entry.isDirectory()) guardRepository(path);
      else if (checkPath(policy, path, "read")?.reason === "protected") hidden.push(path);
      else if (checkPath(policy, path, "write")?.reason === "protected") readOnly.push(path);
      else if (entry.isDirectory() && depth < MAX_DEPTH && !SKIPPED_FOLDERS.has(entry.name)) walk(path, depth + 1);
    }
  };
  /** Commits may change it, but not what makes git run programs. */
  function guardRepository(path: string): void {
    pinned.push(path);
    readOnly.push(...RUN_BY_GIT.map((name) => join(path, name)).filter((one) => existsSync(one)));
    // Without a hooks folder, the command could create one.
    if (!existsSync(join(path, "hooks"))) hidden.push(join(path, "hooks"));
  }

  walk(policy.workspace, 0);
  for (const path of policy.privatePaths.filter((one) => existsSync(one))) {
    hidden.push(path);
    pinned.push(...parentsWithin(path, policy));
  }
  return { hidden: [...new Set(hidden)].filter((path) => !isPermitted(policy, path)), readOnly, pinned };
}

/** Parents of a private folder that commands may write. Pinned, none of them can be replaced by another folder. */
function parentsWithin(path: string, policy: PathPolicy): string[] {
  const parents: string[] = [];
  const roots = writableRoots(policy);
  for (let parent = dirname(path); roots.some((root) => parent !== root && isInside(parent, root));) {
    parents.unshift(parent);
    parent = dirname(parent);
  }
  return parents;
}

/** Whether the owner of the workspace has permitted reading this secret. */
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
