import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { stateFolderOf } from "../io/files/state-folder.ts";
import type { Environment } from "./variables.ts";

/** Whose configuration is read. Tests and services replace these. */
export interface UserOptions {
  /** Default: the home folder (`HOME`) for configuration, that of the user's account for the state folder. */
  home?: string;
  /** Default: `process.env`. */
  env?: Environment;
  /** Absolute path of the state folder of this workspace. Default: what `stateFolderOf` gives. */
  stateFolder?: string;
}

export interface UserPaths {
  home: string;
  env: Environment;
  /** The user's own configuration, and what they trust. */
  folder: string;
  /** Where the saved rules of a workspace are. */
  stateFolderOf(workspace: string): string;
}

export function userPaths(options: UserOptions = {}): UserPaths {
  const { home = homedir(), env = process.env, stateFolder } = options;
  const base = env["XDG_CONFIG_HOME"];
  return {
    home,
    env,
    // The standard says to ignore a relative one.
    folder: join(base && isAbsolute(base) ? base : join(home, ".config"), "haft"),
    stateFolderOf: (workspace) => stateFolder ?? stateFolderOf(workspace, { env, home: options.home }),
  };
}
