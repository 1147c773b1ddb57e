import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

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
