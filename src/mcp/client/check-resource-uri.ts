import { fileURLToPath } from "node:url";
import { toolError } from "../../core/error.ts";
import { isPathAllowed } from "../../files/is-path-allowed.ts";

/** A server must not become a way around the paths that this runtime is confined to. */
export function checkResourceUri(uri: string, allowedPaths: readonly string[]): void {
  if (!/^file:/i.test(uri.trim())) return;
  let path: string;
  try {
    path = fileURLToPath(uri.trim());
  } catch (cause) {
    throw toolError("invalid_input", `The resource ${JSON.stringify(uri.slice(0, 200))} names no local file`, {
      next: "Use an address from the server's list.",
      cause,
    });
  }
  if (isPathAllowed(path, allowedPaths)) return;
  throw toolError(
    "path_denied",
    `Permission denied: Access denied to ${JSON.stringify(path.slice(0, 200))}, outside of the allowed paths`,
    {
      next: "Use a resource inside of them.",
    },
  );
}
