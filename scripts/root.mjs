import { fileURLToPath } from "node:url";

/** The folder of the repository, without a trailing separator. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
