import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package: from the source, from the build and from wherever it was installed. */
export async function findPackage(from: string = fileURLToPath(import.meta.url)): Promise<string | undefined> {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined && (JSON.parse(text) as { name?: string }).name === "haft") return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** "unknown" if the package is not found. */
export async function readVersion(): Promise<string> {
  const folder = await findPackage();
  if (folder === undefined) return "unknown";
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
  return version;
}
