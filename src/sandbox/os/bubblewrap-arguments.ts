import { statSync } from "node:fs";
import { join } from "node:path";
import { NAMESPACES } from "./find-bubblewrap.ts";
import type { GuardedPaths } from "./find-guarded-paths.ts";

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
