// Runs once, in vitest's own process, before the tests that use the package as it is published.
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export default async function packArchive(): Promise<() => void> {
  const { installArchive } = await import("../../scripts/install-archive.mjs");
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-archive-")));
  process.env["HAFT_ARCHIVE"] = await installArchive(folder);
  return () => rmSync(folder, { recursive: true, force: true });
}

/** The file of the archive that an import of `haft` or `haft/…` gives. */
export function archiveEntry(specifier: string): string {
  const folder = process.env["HAFT_ARCHIVE"];
  if (folder === undefined) throw new Error("The archive is not unpacked yet.");
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    exports: Record<string, { default: string }>;
  };
  const entry = exports[specifier.replace(/^haft/, ".")]?.default;
  if (entry === undefined) throw new Error(`The package has no entry "${specifier}".`);
  return join(folder, entry);
}
