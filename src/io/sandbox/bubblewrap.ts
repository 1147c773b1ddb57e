import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import type { GuardedPaths } from "./sandbox.ts";

export type SandboxState = { program: string; why?: undefined } | { program?: undefined; why: string };

const CANDIDATES = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/** Whether commands can be confined here. Tested by running it: many containers have the program but forbid its system calls. */
export function findBubblewrap(platform: NodeJS.Platform = process.platform, candidates = CANDIDATES): SandboxState {
  if (platform !== "linux") return { why: `there is no sandbox for ${platform} yet; it needs Linux with bubblewrap` };
  const program = candidates.find((candidate) => existsSync(candidate));
  if (!program) return { why: "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)" };
  const trial = spawnSync(
    program,
    [...NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"],
    {
      timeout: 10_000,
      encoding: "utf8",
    },
  );
  if (trial.status === 0) return { program };
  const problem = trial.stderr?.trim() || trial.error?.message || `exit code ${trial.status}`;
  return { why: `bubblewrap does not work here (${problem}); the system may forbid user namespaces` };
}

/** Separate processes, network, users and IPC; no privileges; killed together with its parent. */
const NAMESPACES = [
  "--unshare-user",
  "--unshare-ipc",
  "--unshare-pid",
  "--unshare-net",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--disable-userns",
  "--cap-drop",
  "ALL",
  "--die-with-parent",
] as const;

export interface BubblewrapOptions {
  cwd: string;
  /** Real paths of folders that may be written. */
  writable: readonly string[];
  guarded: GuardedPaths;
  /** It runs on its own pseudo-terminal, which a new session would detach. */
  terminal: boolean;
  /** The socket of the filtering proxy, if hosts are allowed. */
  proxySocket?: string;
}

/** Path of the proxy's socket inside the sandbox. */
export const PROXY_INSIDE = "/tmp/.haft-proxy.sock";

const KERNEL_KNOBS = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

/**
 * The whole system is readable; only the workspace and a private temporary folder are writable. Later mounts cover
 * earlier ones, so guarded paths come last.
 */
export function bubblewrapArguments(options: BubblewrapOptions): string[] {
  const { cwd, writable, guarded, terminal, proxySocket } = options;
  const { hidden, readOnly, pinned } = guarded;
  return [
    ...NAMESPACES,
    ...(terminal ? [] : ["--new-session"]),
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"],
    // The kernel allows root to write here even inside a namespace.
    ...KERNEL_KNOBS.flatMap((path) => ["--ro-bind-try", path, path]),
    // Sockets of services that could act for the command, such as Docker's.
    ...["--tmpfs", "/run"],
    ...writable.flatMap((path) => ["--bind-try", path, path]),
    ...pinned.flatMap((path) => ["--bind-try", path, path]),
    ...readOnly.flatMap((path) => ["--ro-bind-try", path, path]),
    ...hidden.flatMap(hide),
    ...(proxySocket === undefined ? [] : ["--ro-bind", proxySocket, PROXY_INSIDE]),
    ...["--chdir", cwd, "--"],
  ];
}

/** Covers a folder with an empty one, and a file with /dev/null. */
function hide(path: string): string[] {
  return isFile(path) ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path, "--remount-ro", path];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
