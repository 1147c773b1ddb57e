import { lstat, mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ConfigError } from "./problems.ts";
import type { Environment } from "./variables.ts";

/** Whose configuration it is: both can be replaced, for tests and for services. */
export interface UserOptions {
  home?: string;
  env?: Environment;
}

export interface UserPaths {
  home: string;
  env: Environment;
  /** Where the user's own configuration and what they trust are kept. */
  folder: string;
}

export function userPaths({ home = homedir(), env = process.env }: UserOptions = {}): UserPaths {
  const base = env["XDG_CONFIG_HOME"];
  // The standard says that a relative one is to be ignored.
  return { home, env, folder: join(base && isAbsolute(base) ? base : join(home, ".config"), "haft") };
}

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
