import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";

const USUAL_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/snap/bin"];

/** The real files of denied programs, under all their names in the folders of programs. */
export interface DeniedFiles {
  paths: string[];
  /** Names whose file is also another program, as in busybox. Closing it would close that one too. */
  shared: string[];
}

/**
 * Finds the files that names and absolute paths mean, in `path` and the usual folders. A file that cannot be read can
 * neither be executed nor copied nor given to a loader.
 */
export function findDeniedFiles(names: readonly string[], path: string): DeniedFiles {
  const folders = [...new Set([...path.split(":").filter(isAbsolute), ...USUAL_FOLDERS])];
  const found: DeniedFiles = { paths: [], shared: [] };
  for (const name of new Set(names)) {
    const candidates = isAbsolute(name)
      ? [name]
      : name.includes("/")
        ? []
        : folders.map((folder) => join(folder, name));
    const files = new Set(candidates.flatMap(realFile));
    for (const file of files) {
      const names = namesOf(file, folders);
      if (names.every((other) => isVariant(basename(other), basename(name)))) found.paths.push(...names);
      else found.shared.push(name);
    }
  }
  return { paths: [...new Set(found.paths)], shared: [...new Set(found.shared)] };
}

/** `python3.11` and `npm-cli.js` are python3 and npm under a longer name. */
function isVariant(file: string, name: string): boolean {
  return file === name || (file.startsWith(name) && /^[.\d-]/.test(file.slice(name.length)));
}

function realFile(path: string): string[] {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isFile() ? [real] : [];
  } catch {
    return [];
  }
}

/** The file and its hard links in these folders. */
function namesOf(file: string, folders: readonly string[]): string[] {
  const info = lstatSync(file);
  if (info.nlink < 2) return [file];
  const isSame = (other: Stats | undefined): boolean => other?.ino === info.ino && other.dev === info.dev;
  const links = folders.flatMap((folder) => {
    const [real] = realFolder(folder);
    if (real === undefined) return [];
    const paths = readdirSync(real).map((entry) => join(real, entry));
    return paths.filter((path) => isSame(lstatSync(path, { throwIfNoEntry: false })));
  });
  return [...new Set([file, ...links])];
}

function realFolder(folder: string): string[] {
  try {
    const real = realpathSync.native(folder);
    return statSync(real).isDirectory() ? [real] : [];
  } catch {
    return [];
  }
}
