import type { ImportedSetting } from "../config/foreign/settings-reader.ts";
import { showColumns } from "./layout.ts";
import { type Output, safeLine, type Style } from "./output.ts";

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
