import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { ConfigError } from "./problems.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { Environment } from "./variables.ts";
import { loadConfig, type LoadedConfig } from "./load-config.ts";

export interface TestFolders {
  folder: string;
  home: string;
  env: Environment;
  stateFolder: string;
  /** Writes into the workspace; a name that begins with "~/" into the home, with "state:" into the state folder. */
  write(files: Record<string, string>): void;
  load(overrides?: HaftConfig): Promise<LoadedConfig>;
  /** What is wrong, as one line each, without the names of the folders. */
  problems(overrides?: HaftConfig): Promise<string[]>;
  short(text: string): string;
}

/** A real workspace and a real home, removed after the tests of the file. */
export function openConfigFolders(files: Record<string, string> = {}, env: Environment = {}): TestFolders {
  const root = temporaryFolder("haft-config-");
  const folder = join(root, "work");
  const home = join(root, "home");
  const stateFolder = join(root, "state");
  for (const each of [folder, home, stateFolder]) mkdirSync(each);
  const short = (text: string) =>
    text.replaceAll(`${folder}/`, "").replaceAll(`${home}/`, "~/").replaceAll(`${stateFolder}/`, "state:");
  const folders: TestFolders = {
    folder,
    home,
    env,
    stateFolder,
    short,
    write(more) {
      for (const [name, text] of Object.entries(more)) {
        const path = name.startsWith("state:")
          ? join(stateFolder, name.slice("state:".length))
          : name.startsWith("~/")
            ? join(home, name.slice(2))
            : join(folder, name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
    },
    load: (overrides) => loadConfig({ folder, home, env, stateFolder, overrides }),
    async problems(overrides) {
      try {
        await folders.load(overrides);
      } catch (error) {
        if (error instanceof ConfigError) return short(error.message).split("\n");
        throw error;
      }
      return [];
    },
  };
  folders.write(files);
  return folders;
}
