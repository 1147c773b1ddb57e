// The package as users install it: built, packed, and unpacked beside links to its dependencies.
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../architecture/read-entries.ts";

const run = promisify(execFile);

/** Installs the archive into `folder` and returns the folder of the package. Its dependencies are those of package.json alone. */
export async function installArchive(folder: string): Promise<string> {
  await run(process.execPath, [join(ROOT, "scripts", "build.mjs")], { cwd: ROOT });
  const packing = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
  await run("npm", packing, { cwd: ROOT, shell: process.platform === "win32" });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error("npm pack has written no archive.");
  await run("tar", ["-xzf", archive], { cwd: folder });
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  renameSync(join(folder, "package"), join(modules, "haft"));
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) linkPackage(modules, name);
  return join(modules, "haft");
}

/** Links a package of the repository into another `node_modules`. */
export function linkPackage(modules: string, name: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "junction");
}
