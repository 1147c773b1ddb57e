import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./expand-variables.ts";

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
