import { accessSync, constants, statSync } from "node:fs";
import { toolError } from "../core/error.ts";
import type { ToolError } from "../core/error.ts";

/** Why a process could not be started, and what to do: ENOENT alone may mean the folder or the program. */
export function explainSpawnFailure(cause: unknown, { file, cwd }: { file: string; cwd: string }): ToolError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const folder = checkWorkingFolder(cwd);
  if (folder) return folder;
  switch (code) {
    case "ENOENT":
      return toolError("path_not_found", `The program "${file}" was not found.`, {
        next: "Check its name, or install it; where it is a script, its interpreter may be missing.",
        data: { file },
        cause,
      });
    case "EACCES":
    case "EPERM":
      return toolError("failed", `The program "${file}" may not be executed (${code}).`, {
        next: "Make it executable, or start it through its interpreter.",
        data: { file },
        cause,
      });
    case "E2BIG":
      return toolError("input_too_large", "The command and its environment are longer than the system takes.", {
        next: "Write the script or the data to a file and run that.",
        cause,
      });
    case "EMFILE":
    case "ENFILE":
    case "EAGAIN":
    case "ENOMEM":
      return toolError("busy", `The system has no room for another process (${code}).`, {
        next: "End processes that are no longer needed, then try again.",
        data: { code },
        cause,
      });
    case "ERR_INVALID_ARG_VALUE":
    case "ERR_INVALID_ARG_TYPE":
      return toolError("invalid_input", "The command cannot be passed to the system.", {
        next: "Remove NUL characters from the command, its arguments and its environment.",
        cause,
      });
    default:
      return toolError("failed", `The program "${file}" could not be started${code && ` (${code})`}.`, {
        next: "Check the command and try again.",
        cause,
      });
  }
}

/** The error of a working folder that cannot be used, if it cannot. */
export function checkWorkingFolder(cwd: string): ToolError | undefined {
  const data = { cwd };
  try {
    if (!statSync(cwd).isDirectory()) {
      return toolError("not_directory", `The working directory "${cwd}" is not a directory.`, {
        next: "Name a directory.",
        data,
      });
    }
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "EACCES") {
      return toolError("failed", `The working directory "${cwd}" may not be entered.`, {
        next: "Choose another directory.",
        data,
        cause,
      });
    }
    return toolError("path_not_found", `The working directory "${cwd}" does not exist.`, {
      next: "Create it first or choose another one.",
      data,
      cause,
    });
  }
}
