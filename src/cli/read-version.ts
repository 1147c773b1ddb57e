import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findPackage } from "../io/files/package-folder.ts";

export async function readVersion(): Promise<string> {
  const folder = await findPackage();
  if (folder === undefined) return "unknown";
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
  return version;
}
