import { errorCode, toolError, ToolError, type ErrorCode } from "../../core/error.ts";
import { checkPath, describeAllowed, type PathOperation, type PathPolicy, type PathRefusal } from "./path-policy.ts";
import { quotePath, resolveLinks, type PathName } from "./path-name.ts";

export interface FailureContext {
  policy: PathPolicy;
  operation: PathOperation;
}

/** The error for a refused path. It names the path as given, never the real path. */
export function deniedPath(name: PathName, refusal: PathRefusal, policy: PathPolicy): ToolError {
  const allowed = `Allowed paths: ${describeAllowed(policy)}.`;
  const [why, next] = (() => {
    switch (refusal.reason) {
      case "outside":
        return [
          "it is outside the allowed paths",
          `${allowed} Use a path inside one of them; only the user can allow others.`,
        ];
      case "read_only":
        return ["it is read only", `${allowed} Write to one that is not read only.`];
      case "special":
        return ["it belongs to the kernel or to a device", `${allowed} Use an ordinary file inside one of them.`];
      case "protected":
        return [
          // A rule with an absolute path may reveal folders that a model should not know.
          `it is protected${refusal.glob.startsWith("/") ? "" : ` by the rule ${JSON.stringify(refusal.glob)}`}`,
          `${allowed} Protected files inside them are off limits: continue without this one; only the user can handle it.`,
        ];
    }
  })();
  return toolError("path_denied", `Permission denied: Access denied to ${quotePath(name.given)}: ${why}`, {
    next,
    data: refusal,
  });
}

/** Turns a system error about a path into a tool error. */
export function explainFailure(thrown: unknown, name: PathName, { policy, operation }: FailureContext): unknown {
  if (thrown instanceof ToolError || !isErrno(thrown)) return thrown;
  // Outside the allowed paths the error must not reveal whether the path exists.
  const resolved = resolveLinks(name.absolute);
  const refusal = resolved === null ? null : checkPath(policy, resolved, operation);
  if (refusal !== null) return deniedPath(name, refusal, policy);
  const shown = quotePath(name.given);
  const fail = (code: ErrorCode, message: string, next: string, data?: unknown) =>
    toolError(code, message, { next, data, cause: thrown });
  switch (thrown.code) {
    case "ENOENT":
      return fail("path_not_found", `File not found: ${shown}`, "Check the path, for instance by listing its folder.");
    case "ENOTDIR":
      return fail("not_directory", `Not a directory: a part of ${shown} is a file`, "Check the path.");
    case "EISDIR":
      return fail("is_directory", `${shown} is a directory`, "Give the path of a file.");
    case "EEXIST":
      return alreadyExists(name, thrown);
    case "ENOTEMPTY":
      return fail(
        "not_empty",
        `The directory ${shown} is not empty`,
        "Delete it recursively if you want to remove everything in it.",
      );
    case "ELOOP":
      return fail(
        "invalid_input",
        `Too many symbolic links in ${shown}`,
        "The links form a loop: use the path of the file itself.",
        {
          reason: "symlink_loop",
        },
      );
    case "ENAMETOOLONG":
      return fail("invalid_input", `The path ${shown} is too long`, "Use shorter names.");
    case "EACCES":
    case "EPERM":
      return fail(
        "path_denied",
        `Permission denied: Access denied to ${shown}: the operating system does not let this process ${operation} it`,
        `Allowed paths: ${describeAllowed(policy)}. Use another path; only the user can change the permissions of the file.`,
        { reason: "operating_system" },
      );
    case "EROFS":
      return fail("io_error", `${shown} is on a read-only file system`, "Write to another path.");
    case "ENOSPC":
    case "EDQUOT":
      return fail(
        "io_error",
        `No space left on the disk for ${shown}; the old content is unchanged`,
        "Free some space or write less, then try again.",
      );
    case "EMFILE":
    case "ENFILE":
      return fail(
        "busy",
        `Too many files are open to ${operation} ${shown}`,
        "Wait for other calls to end, then try again.",
      );
    default:
      return fail(
        "io_error",
        `Could not ${operation} ${shown} (${thrown.code})`,
        "Try again; if it persists, tell the user.",
      );
  }
}

export function alreadyExists(name: PathName, cause?: unknown): ToolError {
  return toolError("path_exists", `${quotePath(name.given)} already exists`, {
    next: "Choose another path, or allow it to be replaced.",
    cause,
  });
}

export function isErrno(thrown: unknown): thrown is Error & { code: string } {
  return errorCode(thrown) !== undefined;
}

export function isMissing(thrown: unknown): boolean {
  return isErrno(thrown) && thrown.code === "ENOENT";
}
