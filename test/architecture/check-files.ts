// Checks file names, file length, folder size and where an index.ts may be.
import type { SourceFile } from "./check-imports.ts";

export interface FormRules {
  readonly entries: readonly string[];
  readonly vagueNames: readonly string[];
  readonly maxLines: number;
  readonly maxFilesPerFolder: number;
  readonly maxFiles: number;
  readonly isData: RegExp;
}

export function checkFileForm(files: readonly SourceFile[], rules: FormRules): string[] {
  return files.flatMap(({ path, source }) => {
    const problems: string[] = [];
    const parts = path.split("/").slice(1);
    const name = parts.at(-1)?.split(".")[0] ?? "";
    for (const part of parts) {
      if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(part))
        problems.push(`${path}:1 names are in kebab-case: "${part}"`);
    }
    if (rules.vagueNames.includes(name))
      problems.push(`${path}:1 "${name}" is vague: name the file after what it does or is`);
    if (name === "index" && !rules.entries.includes(path)) {
      problems.push(`${path}:1 index.ts is only for the entry points of the package: ${rules.entries.join(", ")}`);
    }
    const lines = source.split("\n").length - (source.endsWith("\n") ? 1 : 0);
    if (lines > rules.maxLines && !rules.isData.test(path)) {
      problems.push(`${path}:${rules.maxLines + 1} has ${lines} lines, at most ${rules.maxLines}: split it`);
    }
    return problems;
  });
}

/** Folders with too many source files, and too many source files in all. */
export function checkCounts(files: readonly SourceFile[], rules: FormRules): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const crowded = [...counts]
    .filter(([, count]) => count > rules.maxFilesPerFolder)
    .map(([folder, count]) => `${folder} has ${count} files, at most ${rules.maxFilesPerFolder}`);
  return files.length > rules.maxFiles
    ? [...crowded, `src has ${files.length} files, at most ${rules.maxFiles}`]
    : crowded;
}
