import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../core/clock.ts";
import type { Files } from "../files/files.ts";
import { checkPath, isInside, isSecretName, type PathPolicy } from "../files/path-policy.ts";
import { findProgram } from "../shell/find-program.ts";
import { bubblewrapArguments, findBubblewrap, PROXY_INSIDE, type SandboxState } from "./bubblewrap.ts";

export interface SandboxOptions {
  files: Pick<Files, "policy" | "narrow">;
  autoAllow?: boolean;
  /** Of each process, in bytes. */
  memoryBytes?: number;
  /** Of the user that runs them; nobody limits root. */
  processes?: number;
  /** A socket behind which a proxy decides which hosts are reached; no network where absent. */
  proxy?: { socketPath: string; hosts: readonly string[] };
  clock?: Clock;
  find?: () => SandboxState;
}

/** Looking through a workspace takes longer than most commands. */
const BELIEVED_MS = 5000;
const DEFAULT_MEMORY = 4 * 1024 * 1024 * 1024;
const DEFAULT_PROCESSES = 512;
const PROXY_PORT = 3128;

/** A place to run commands in, where this machine has one; otherwise why not. */
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
    if (!known || now - known.at > BELIEVED_MS) known = { guarded: findGuardedPaths(files.policy), at: now };
    return known.guarded;
  };

  return {
    confinement: {
      autoAllow,
      summary: `confined: writes only in the workspace and a temporary folder of its own, no secrets, ${
        options.proxy ? `of the network only ${options.proxy.hosts.join(", ")}` : "no network"
      }`,
      wrap(
        command: readonly string[],
        { cwd, terminal, allowedPaths }: { cwd: string; terminal: boolean; allowedPaths?: readonly string[] },
      ) {
        const { policy } = files.narrow(allowedPaths);
        const bubblewrapOptions = {
          cwd,
          terminal,
          workspace: policy.workspace,
          writable: writableRoots(policy),
          guarded: guardedNow(),
          proxySocket: options.proxy?.socketPath,
        };
        return [program, ...bubblewrapArguments(bubblewrapOptions), ...limited(command, options, socat)];
      },
    },
  };
}

/** What every layer lets be written. The whole system never is: then there is nothing to confine to but the workspace. */
function writableRoots({ layers, workspace }: PathPolicy): string[] {
  const roots = layers.map((layer) => layer.filter(({ writable }) => writable).map(({ path }) => path));
  const admitted = roots.flat().filter((path) => roots.every((layer) => layer.some((root) => isInside(path, root))));
  return [...new Set(admitted.map((path) => (path === "/" ? workspace : path)))];
}

/** Limits and variables are inherited: a shell sets them, and becomes the command. */
function limited(command: readonly string[], options: SandboxOptions, socat: string | undefined): string[] {
  const { memoryBytes = DEFAULT_MEMORY, processes = DEFAULT_PROCESSES } = options;
  const limits = `ulimit -d ${Math.floor(memoryBytes / 1024)}; ulimit -u ${processes} 2>/dev/null`;
  return ["/bin/sh", "-c", [limits, ...(socat ? bridge(socat) : []), 'exec "$@"'].join("\n"), "sh", ...command];
}

/** Inside there is a loopback of its own and nothing else: a port of it leads to the proxy's socket. */
function bridge(socat: string): string[] {
  const names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  return [
    `${socat} TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${PROXY_INSIDE} &`,
    `i=0; until ${socat} -u OPEN:/dev/null TCP:127.0.0.1:${PROXY_PORT} 2>/dev/null || [ $i -ge 100 ]; do i=$((i+1)); sleep 0.01; done`,
    ...names.map((name) => `export ${name}=http://127.0.0.1:${PROXY_PORT}`),
    "export NODE_USE_ENV_PROXY=1",
  ];
}

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
function findGuardedPaths(policy: PathPolicy, home: string = homedir()): GuardedPaths {
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
