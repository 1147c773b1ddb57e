import { resolve } from "node:path";
import { compileDenials, DEFAULT_DENY_RULES, type Denials } from "./deny-rules.ts";
import type { Files } from "./files.ts";
import { expandHome, isInside } from "./is-path-allowed.ts";

let secrets: Denials | undefined;

/** Whether a name is one that keys and passwords are kept under, wherever it lies. */
export function isSecretName(path: string): boolean {
  secrets ??= compileDenials(DEFAULT_DENY_RULES);
  const below = path.replace(/^\/+/, "");
  return secrets({ real: `/${below}`, below }, "read") !== null;
}

/**
 * Whether reading it brings what is not for everybody: secrets that the owner has permitted by name, and all that lies
 * outside of the workspace.
 */
export function isSensitivePath(files: Pick<Files, "policy" | "realPath">, path: string): boolean {
  const { workspace } = files.policy;
  let real = resolve(workspace, expandHome(path));
  try {
    real = files.realPath(path);
  } catch {
    // It may not be read, or is not there: its name is all there is to judge.
  }
  if (!isInside(real, workspace)) return true;
  return isSecretName(real.slice(workspace.length));
}
