import { join } from "node:path";
import type { ImportedSetting } from "../config/foreign/settings-reader.ts";
import { showColumns } from "./layout.ts";
import { type Output, safeLine, type Style } from "./output.ts";
import type { HaftHost } from "../capabilities/open-host.ts";

/** What became of every setting of other programs: of their configuration files, skills, commands and instructions. */
export async function listImported({
  config,
  agents,
}: Pick<HaftHost, "config"> & Partial<Pick<HaftHost, "agents">>): Promise<ImportedSetting[]> {
  const files = (await agents?.skills.files()) ?? [];
  const skills = files
    // The others are in Haft's own folder.
    .filter(({ file }) => file.includes(join(".claude", "")) || file.startsWith(join(config.folder, "")))
    .flatMap(({ file, name, isCommand, problem, notes, shadowedBy }): ImportedSetting[] => {
      if (name === undefined) return [{ file, setting: "", outcome: "not_applied", reason: problem ?? "" }];
      if (shadowedBy !== undefined) {
        return [{ file, setting: "", outcome: "not_applied", reason: `${shadowedBy} has the same name and is used.` }];
      }
      const what = isCommand ? `The command /${name}.` : `The skill ${name}.`;
      const reason = problem === undefined ? what : `${what} Warning: ${problem}`;
      return [
        { file, setting: "", outcome: "applied", reason },
        ...notes.map(({ key, ...note }) => ({ file, setting: key, ...note })),
      ];
    });
  return [...config.imported, ...skills];
}

/** `12 applied, 3 narrowed, 4 not applied`. */
export function countImported(imported: readonly ImportedSetting[]): string {
  const count = (outcome: ImportedSetting["outcome"]): number =>
    imported.filter((line) => line.outcome === outcome).length;
  return `${count("applied")} applied, ${count("narrowed")} narrowed, ${count("not_applied")} not applied`;
}

const STYLES: Readonly<Record<string, Style>> = { applied: "green", narrowed: "green", "not applied": "yellow" };

/** The settings of other programs, one line each, by file. */
export function showImported(imported: readonly ImportedSetting[], { paint }: Output): string[] {
  if (imported.length === 0) return [];
  const files = [...new Set(imported.map(({ file }) => file))];
  return [
    "",
    "Settings of other programs:",
    ...files.flatMap((file) => [
      paint("bold", safeLine(file)),
      ...showColumns(
        imported
          .filter((line) => line.file === file)
          .map(({ outcome, setting, line, reason }) => [
            `  ${outcome.replace("_", " ")}`,
            safeLine(`${setting}${line === undefined ? "" : `:${line}`}`),
            safeLine(reason),
          ]),
        { paint, styleOf: (cell, column) => (column === 0 ? STYLES[cell.trim()] : undefined) },
      ),
    ]),
  ];
}
