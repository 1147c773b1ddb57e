import type { Files } from "../../io/files/files.ts";
import { isInside } from "../../io/files/path-policy.ts";
import { findProgram } from "../../io/shell/find-program.ts";
import type { GitUse } from "../../io/shell/read-only-git.ts";
import { rebuildCommand } from "../../io/shell/rebuild-command.ts";

/** The parts of a call that decide whether it only reads. */
export interface PlannedInput {
  command: string;
  working_directory?: string;
  env?: unknown;
  stdin?: string;
  pty?: boolean;
  keep_stdin_open?: boolean;
  run_in_background?: boolean;
}

/** Each is looked up on the disk. */
const MAX_PATHS = 200;

export interface PlanContext {
  files: Files;
  env: Readonly<Record<string, string>>;
  /** The call names its own paths: then it reads only these. */
  isNarrowed?: boolean;
  /** See `RebuildOptions`. */
  hiddenFromGit?: readonly string[];
}

export interface ReadOnlyPlan {
  /** What to run. */
  text: string;
  /** Its commands of git, which may print secrets of the history: see `findPrintedSecrets`. */
  git: readonly GitUse[];
}

/**
 * What to run instead of a command that only reads, as far as its text shows; undefined if it needs approval. The result
 * must run in the profile `look`, which makes sure that nothing is written and no secret is read.
 */
export function planReadOnly(
  input: PlannedInput,
  { files, env, isNarrowed = false, hiddenFromGit }: PlanContext,
): ReadOnlyPlan | undefined {
  if (process.platform === "win32" || input.env || input.stdin !== undefined || input.pty) return undefined;
  if (input.keep_stdin_open || input.run_in_background) return undefined;
  try {
    const cwd = files.realPath(input.working_directory ?? ".");
    const { workspace } = files.policy;
    const rebuilt = rebuildCommand(input.command, {
      cwd,
      roots: [workspace],
      readsSystem: !isNarrowed,
      hiddenFromGit,
      programPath(name) {
        // If it does not exist, the shell reports that.
        const path = findProgram(name, env, { first: ["/usr/bin", "/bin"] }) ?? `/usr/bin/${name}`;
        // A program in the workspace could be anything.
        return isInside(path, workspace) ? undefined : path;
      },
    });
    if ("refused" in rebuilt || rebuilt.paths.length > MAX_PATHS) return undefined;
    // Refuses secrets and links that lead out of the workspace.
    for (const path of rebuilt.paths) files.realPath(path);
    return { text: rebuilt.text, git: rebuilt.git };
  } catch {
    // A path that may not be read: the approver sees it, and exec refuses the directory.
    return undefined;
  }
}
