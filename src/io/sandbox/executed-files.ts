import { lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { EXECUTED_NAMES } from "../files/executed-names.ts";
import { expandBraces } from "../files/glob-pattern.ts";

/** A file that programs execute by themselves, and that a command changed, created or deleted. */
export interface ExecutedChange {
  /** Relative to the workspace. */
  path: string;
  why: string;
}

/** Deeper folders of this kind are rare, and a command waits for this. */
const MAX_ENTRIES = 500;
const MAX_DEPTH = 3;

/**
 * The files at the top of a workspace that a command may change, but that a person should know about: package manifests,
 * workflows, hooks and settings. What must not change is guarded instead.
 */
export class ExecutedFiles {
  readonly #workspace: string;
  readonly #before: ReadonlyMap<string, string>;

  constructor(workspace: string) {
    this.#workspace = workspace;
    this.#before = this.#read();
  }

  changes(): ExecutedChange[] {
    const now = this.#read();
    const paths = new Set([...this.#before.keys(), ...now.keys()]);
    return [...paths]
      .filter((path) => this.#before.get(path) !== now.get(path))
      .map((path) => ({ path, why: whyOf(path) }));
  }

  /** What tells whether a file was changed, by its path. */
  #read(): Map<string, string> {
    const found = new Map<string, string>();
    for (const name of NAMES.keys()) this.#add(found, name, 0);
    return found;
  }

  #add(found: Map<string, string>, path: string, depth: number): void {
    if (found.size >= MAX_ENTRIES) return;
    const info = infoOf(join(this.#workspace, path));
    if (!info) return;
    if (!info.isDirectory()) return void found.set(path, `${info.ino} ${info.size} ${info.mtimeMs} ${info.ctimeMs}`);
    if (depth >= MAX_DEPTH) return;
    for (const name of namesIn(join(this.#workspace, path))) this.#add(found, `${path}/${name}`, depth + 1);
  }
}

/** Folders with installed packages change with every installation. */
const INSTALLED = ["node_modules/.bin", ".venv", ".yarn"];

const NAMES: ReadonlyMap<string, string> = new Map(
  EXECUTED_NAMES.filter(
    ({ isRefused, glob }) => !isRefused && !glob.includes("*") && !INSTALLED.includes(glob),
  ).flatMap(({ glob, why }) => expandBraces(glob).map((name) => [name, why] as const)),
);

function whyOf(path: string): string {
  for (const [name, why] of NAMES) if (path === name || path.startsWith(`${name}/`)) return why;
  return "";
}

/** Nothing is below a file: in a worktree of git, `.git` is one. */
function infoOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Empty if the folder cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
