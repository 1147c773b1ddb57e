// Holds source files to the habits of form: their names, their length, and where an index.ts may stand.
import type { SourceFile } from "./check-architecture.ts";

export interface FormRules {
  readonly entries: readonly string[];
  readonly vagueNames: readonly string[];
  readonly longestFile: number;
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
      problems.push(`${path}:1 "${name}" says nothing: name the file by what it does or is`);
    if (name === "index" && !rules.entries.includes(path)) {
      problems.push(`${path}:1 index.ts stands only at the entry points of the package: ${rules.entries.join(", ")}`);
    }
    const lines = source.split("\n").length - (source.endsWith("\n") ? 1 : 0);
    if (lines > rules.longestFile && !rules.isData.test(path)) {
      problems.push(
        `${path}:${rules.longestFile + 1} has ${lines} lines, at most ${rules.longestFile}: split it by idea`,
      );
    }
    return problems;
  });
}
