import { resolve } from "node:path";
import type { Files } from "../../files/files.ts";
import { containsDenied } from "../../files/holds-denied.ts";
import { isInside } from "../../files/path-policy.ts";
import { analyseCommand } from "../../shell/analyse-command.ts";
import { findProgram } from "../../shell/find-shell.ts";
import { isPlainRepository } from "../../shell/plain-repository.ts";
import { quoteExecution } from "../../shell/quote-execution.ts";
import type { ExecInput } from "./exec-parameters.ts";

export interface ReadOnlyCircumstances {
  files: Files;
  env: Readonly<Record<string, string>>;
  /** Somebody vouches for the workspace's repository; git still asks where its configuration names programs. */
  trustedRepository?: boolean | undefined;
}

/**
 * What to run in place of a command that provably only reads, and only what may be read; undefined for every other. Such
 * a command need not ask, because what was analysed is what runs: its words, quoted, and nothing that a shell would
 * make of them. What reads whole trees asks where something lies below that may not be read.
 */
export function planReadOnly(
  input: ExecInput,
  { files, env, trustedRepository = false }: ReadOnlyCircumstances,
): string | undefined {
  if (process.platform === "win32" || input.env || input.stdin !== undefined || input.pty) return undefined;
  if (input.keep_stdin_open || input.run_in_background) return undefined;
  try {
    const cwd = files.realPath(input.working_directory ?? ".");
    const { workspace } = files.policy;
    const obeysGit = trustedRepository && /\bgit\b/.test(input.command) && isPlainRepository(cwd, workspace);
    const analysis = analyseCommand(input.command, { cwd, roots: [workspace], trustedRepository: obeysGit });
    if (analysis.class !== "read-only" || !analysis.execution) return undefined;
    const paths = analysis.paths.map((path) => files.realPath(resolve(cwd, path)));
    const readsBelow = analysis.commands?.some((command) => command.readsBelow);
    if (readsBelow && paths.some((path) => containsDenied(files.policy, path))) return undefined;
    return quoteExecution(analysis.execution, (name) => {
      if (name.startsWith("/")) return name;
      // One that is not there is still no other: the shell says that it is missing.
      const path = findProgram(name, env, ["/usr/bin", "/bin"]) ?? `/usr/bin/${name}`;
      // A program that lies in the workspace may be anything.
      return isInside(path, workspace) ? undefined : path;
    });
  } catch {
    // A path that may not be read: whoever is asked will see it, and exec itself will refuse the directory.
    return undefined;
  }
}
