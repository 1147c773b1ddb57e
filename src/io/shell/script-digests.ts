import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseCommand, unwrapCommand } from "./parse-command.ts";

/** Programs that execute a file that they are given. */
const INTERPRETER =
  /^(?:(?:ba|da|z|k|mk|a|fi|tc|c)?sh|node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy\d*|ruby|perl[\d.]*|php[\d.]*|lua[\d.]*|luajit|rscript|julia|awk|gawk|mawk|sed|make|gmake|java|groovy|osascript|pwsh|powershell|tclsh|expect|source|\.)$/i;

const MAX_FILES = 32;
/** Each may be in several folders. */
const MAX_NAMED = 200;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * SHA-256 digests, by absolute path, of the script files that a command names: `./run.sh`, `node a.js`, `sh < script`.
 * Approval is bound to them, so a script that is changed after the question does not run. Not found: names that only
 * exist at run time (`$X.sh`), and what scripts themselves load.
 */
export async function scriptDigests(command: string, cwd: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  const paths = scriptsOf(command, cwd);
  if (paths.length > MAX_FILES) digests["…"] = `${paths.length - MAX_FILES} more files are not listed`;
  for (const path of paths.slice(0, MAX_FILES)) {
    const digest = await digestOf(path);
    if (digest !== undefined) digests[path] = digest;
  }
  return digests;
}

/** Paths that may be scripts, in the order of the text. They need not exist. */
function scriptsOf(command: string, cwd: string): string[] {
  const parsed = parseCommand(command);
  const { commands } = unwrapCommand(parsed);
  // A command after `cd` runs there, or here if the `cd` fails.
  const folders = [cwd];
  for (const { name, argv } of commands) {
    const [, target] = argv;
    if (name === "cd" && target !== undefined && !target.startsWith("-")) {
      folders.push(...folders.map((folder) => resolve(folder, target)));
    }
    if (folders.length > MAX_FILES) break;
  }
  const words = commands.flatMap(({ name, argv: [program = "", ...rest] }) => [
    ...(program.includes("/") ? [program] : []),
    ...(INTERPRETER.test(name) ? rest.map((word) => word.replace(/^-{1,2}[\w-]+=/, "")) : []),
  ]);
  const inputs = parsed.redirections.flatMap(({ operator, target }) =>
    operator === "<" && target ? [target.value] : [],
  );
  const named = [...words, ...inputs].filter((word) => word !== "" && !word.startsWith("-")).slice(0, MAX_NAMED);
  return [...new Set(named.flatMap((word) => folders.map((folder) => resolve(folder, word))))];
}

async function digestOf(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return undefined;
    // Hashing more would make the approver wait.
    if (found.size > MAX_BYTES) return `size ${found.size}, changed ${found.mtime.toISOString()}`;
    const hash = createHash("sha256");
    await pipeline(createReadStream(path), hash);
    return hash.digest("hex");
  } catch {
    return undefined;
  }
}
