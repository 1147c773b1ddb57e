import { resolve } from "node:path";
import type { Files } from "../../files/files.ts";
import { isInside } from "../../files/path-policy.ts";
import { analyseCommand } from "../../shell/analyse-command.ts";
import { findProgram } from "../../shell/find-shell.ts";
import { quoteExecution } from "../../shell/quote-execution.ts";
import type { ExecInput } from "./exec-parameters.ts";

/**
 * What to run in place of a command that provably only reads, and only what may be read; undefined for every other. Such
 * a command need not ask, because what was analysed is what runs: its words, quoted, and nothing that a shell would
 * make of them. What reads whole trees asks: secrets may lie below.
 */
export function planReadOnly(
  input: ExecInput,
  files: Files,
  env: Readonly<Record<string, string>>,
): string | undefined {
  if (process.platform === "win32" || input.env || input.stdin !== undefined || input.pty) return undefined;
  if (input.keep_stdin_open || input.run_in_background) return undefined;
  try {
    const cwd = files.realPath(input.working_directory ?? ".");
    const analysis = analyseCommand(input.command, { cwd, roots: [files.policy.workspace] });
    if (analysis.class !== "read-only" || !analysis.execution || analysis.recursive) return undefined;
    for (const path of analysis.paths) files.realPath(resolve(cwd, path));
    return quoteExecution(analysis.execution, (name) => {
      const path = findProgram(name, env, ["/usr/bin", "/bin"]);
      // A program that lies in the workspace may be anything.
      return path === undefined || isInside(path, files.policy.workspace) ? undefined : path;
    });
  } catch {
    // A path that may not be read: whoever is asked will see it, and exec itself will refuse the directory.
    return undefined;
  }
}
