import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { GuardedPaths } from "./sandbox.ts";

export type SandboxState = { program: string; why?: undefined } | { program?: undefined; why: string };

const CANDIDATES = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/** Whether commands can be confined here. Tried, not guessed: many containers have the program and forbid what it does. */
export function findBubblewrap(platform: NodeJS.Platform = process.platform, candidates = CANDIDATES): SandboxState {
  if (platform !== "linux") return { why: `there is no sandbox for ${platform} yet; it needs Linux with bubblewrap` };
  const program = candidates.find((candidate) => existsSync(candidate));
  if (!program) return { why: "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)" };
  const tried = spawnSync(
    program,
    [...NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"],
    {
      timeout: 10_000,
      encoding: "utf8",
    },
  );
  if (tried.status === 0) return { program };
  const problem = tried.stderr?.trim() || tried.error?.message || `exit code ${tried.status}`;
  return { why: `bubblewrap does not work here (${problem}); the system may forbid user namespaces` };
}

/** Processes, network, users and messages of its own; no privilege, and none to be had; gone with whoever started it. */
export const NAMESPACES = [
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
  /** Real paths that may be written below. */
  writable: readonly string[];
  /** The workspace, whose `.haft` is the runtime's own. */
  workspace: string;
  guarded: GuardedPaths;
  /** On a pseudo-terminal of its own, which a new session would take away from it. */
  terminal: boolean;
  /** A socket that leads to the filtering proxy, where hosts are allowed. */
  proxySocket?: string;
}

/** Where the proxy's socket is inside. */
export const PROXY_INSIDE = "/tmp/.haft-proxy.sock";

const KERNEL_KNOBS = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

/**
 * The whole system to read, nothing to write but the workspace and a temporary folder of its own. Later mounts lie on top
 * of earlier ones: what is guarded comes last.
 */
export function bubblewrapArguments(options: BubblewrapOptions): string[] {
  const { cwd, writable, workspace, guarded, terminal, proxySocket } = options;
  const { hidden, readOnly, pinned } = guarded;
  const own = join(workspace, ".haft");
  const spill = join(own, "spill");
  return [
    ...NAMESPACES,
    ...(terminal ? [] : ["--new-session"]),
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"],
    // The kernel asks only who writes there, and root is root.
    ...KERNEL_KNOBS.flatMap((path) => ["--ro-bind-try", path, path]),
    // Sockets of services that would act for the command, such as Docker's.
    ...["--tmpfs", "/run"],
    ...writable.flatMap((path) => ["--bind-try", path, path]),
    ...pinned.flatMap((path) => ["--bind-try", path, path]),
    ...readOnly.flatMap((path) => ["--ro-bind-try", path, path]),
    ...hidden.flatMap(hide),
    ...(isFolder(own)
      ? ["--tmpfs", own, ...(isFolder(spill) ? ["--ro-bind", spill, spill] : []), "--remount-ro", own]
      : []),
    ...(proxySocket === undefined ? [] : ["--ro-bind", proxySocket, PROXY_INSIDE]),
    ...["--chdir", cwd, "--"],
  ];
}

/** An empty folder over a folder, nothing over a file. */
function hide(path: string): string[] {
  return isFile(path) ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path, "--remount-ro", path];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
