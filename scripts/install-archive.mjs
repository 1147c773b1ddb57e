// The package as it would be published, for tests and scripts that use it from outside.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { runNpm } from "./ensure-installed.mjs";
import { ROOT } from "./root.mjs";

/**
 * Packs Haft and unpacks the archive into `folder/node_modules/haft`. Its dependencies are linked beside it, and `packages`; no
 * optional package is. Returns the folder of the package.
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
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const name of new Set([...Object.keys(dependencies), ...packages])) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "junction");
  }
  return installed;
}
