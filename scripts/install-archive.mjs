// The package as it would be published, for tests and scripts that use it from outside.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { runNpm } from "./ensure-installed.mjs";
import { ROOT } from "./root.mjs";

/**
 * Packs Haft and unpacks the archive into `folder/node_modules/haft`. The packages that npm would install are linked beside it, and
 * `packages`. Returns the folder of the package.
 */
export async function installArchive(folder, packages = []) {
  const code = await build();
  if (code !== 0) throw new Error("The build failed, so there is no archive.");
  const modules = join(folder, "node_modules");
  const installed = join(modules, "haft");
  mkdirSync(installed, { recursive: true });
  const packed = runNpm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
  if (packed.status !== 0) throw new Error(`npm pack failed: ${packed.stderr}`);
  const [{ filename }] = JSON.parse(packed.stdout);
  const archive = join(folder, filename);
  execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
  rmSync(archive);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  const installedByNpm = Object.keys({ ...dependencies, ...optionalDependencies });
  for (const name of new Set([...installedByNpm, ...packages])) linkPackage(modules, name);
  return installed;
}

/** The files of the archive that npm would publish, and its packed size. */
export async function listArchive() {
  if ((await build()) !== 0) throw new Error("The build failed, so there is no archive.");
  const listed = runNpm(["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"], ROOT);
  if (listed.status !== 0) throw new Error(`npm pack failed: ${listed.stderr}`);
  const [{ files, size }] = JSON.parse(listed.stdout);
  return { paths: files.map(({ path }) => path), size };
}

/** Links a package of the repository into another `node_modules`. */
export function linkPackage(modules, name) {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "junction");
}
