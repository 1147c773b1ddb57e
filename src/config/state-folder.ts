import { lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "./config-problem.ts";

/** `<workspace>/.haft`, of our own and never committed. A link there would lead what is written elsewhere. */
export async function ensureStateFolder(folder: string): Promise<string> {
  const state = join(folder, ".haft");
  await mkdir(state, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const info = await lstat(state);
  if (!info.isDirectory()) throw new ConfigError([{ file: state, message: "Is not a folder of its own. Remove it." }]);
  await writeFile(join(state, ".gitignore"), "*\n", { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return state;
}
