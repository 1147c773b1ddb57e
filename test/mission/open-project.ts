import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createHaft, type Haft, type HaftOptions } from "haft";
import { openWorkspace, type Workspace, type WorkspaceOptions } from "haft/workspace";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";

/** A folder on the disk, the workspace tools that work in it, and the gate before them. */
export interface Project {
  readonly folder: string;
  readonly workspace: Workspace;
  readonly haft: Haft;
  /** The absolute path of a name in the folder, as the seeds write paths. */
  at(name: string): string;
  /** What is on the disk, whatever the tools say. */
  onDisk(name: string): string | undefined;
}

export interface ProjectOptions extends WorkspaceOptions {
  /** As for `createHaft`. Unless another approver is given, a person is there who says yes. */
  haft?: Omit<HaftOptions, "workspace" | "clock">;
}

/** Gone when the test is over, with all that was started in it. */
export function openProject(
  files: Readonly<Record<string, string | Buffer>> = {},
  { haft: settings = {}, ...options }: ProjectOptions = {},
): Project {
  const folder = temporaryFolder("haft-mission-");
  const at = (name: string): string => join(folder, name);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), content);
  }
  const workspace = openWorkspace(folder, options);
  const haft = createHaft({
    approver: async () => ({ approved: true, by: "ada" }),
    ...settings,
    workspace,
    ...(options.clock ? { clock: options.clock } : {}),
  });
  onTestFinished(async () => {
    await haft.shutdown();
  });
  return {
    folder,
    workspace,
    haft,
    at,
    onDisk: (name) => (existsSync(at(name)) ? readFileSync(at(name), "utf8") : undefined),
  };
}
