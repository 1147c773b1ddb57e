// A program of its own, for tests that need another process: TypeScript in, JavaScript out.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { rolldown } from "rolldown";
import { ROOT } from "../architecture/read-entries.ts";

export interface BundleOptions {
  /** Parts that are imported late stay files of their own, as in the build; else everything is one file. */
  isSplit?: boolean;
  /** Packages that are bundled too, so that many starts take less time. */
  inlined?: readonly string[];
}

/** Bundles `entry` (from the root of the repository) into `folder`, which the installed packages are linked into. */
export async function bundleProgram(
  entry: string,
  folder: string,
  { isSplit = false, inlined = [] }: BundleOptions = {},
): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const isInlined = (id: string): boolean => inlined.some((name) => id === name || id.startsWith(`${name}/`));
  const bundle = await rolldown({
    input: join(ROOT, entry),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id) && !isInlined(id),
    logLevel: "silent",
  });
  const file = join(folder, "program.js");
  await bundle.write(
    isSplit
      ? { dir: folder, format: "esm", entryFileNames: "program.js", chunkFileNames: "[name]-[hash].js" }
      : { file, format: "esm", codeSplitting: false },
  );
  await bundle.close();
  return file;
}
