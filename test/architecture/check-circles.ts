// Finds files of a folder that import each other, also if only types go round: such files cannot be read one by one.
import { posix } from "node:path";
import type { SourceFile } from "./check-imports.ts";
import { parseModule } from "./parse-module.ts";

/** Every circle as one line, from its first file by name and by the shortest way. */
export function checkCircles(files: readonly SourceFile[], folders: readonly string[]): string[] {
  return folders.flatMap((folder) => {
    const inside = files.filter(({ path }) => path.startsWith(`src/${folder}/`));
    const known = new Set(inside.map(({ path }) => path));
    const imported = new Map(
      inside.map(({ path, source }) => {
        // A table may load late what reads the table.
        const early = parseModule(source).imports.filter(({ kind }) => kind !== "dynamic");
        const targets = early.map(({ specifier }) => posix.join(posix.dirname(path), specifier));
        return [path, targets.filter((target) => known.has(target))];
      }),
    );
    const reported = new Set<string>();
    return [...known].flatMap((path) => {
      const circle = reported.has(path) ? undefined : findWay(path, imported);
      for (const each of circle ?? []) reported.add(each);
      return circle ? [`${circle.join(" > ")}: files of ${folder}/ do not import each other in a circle`] : [];
    });
  });
}

/** The shortest way from a file back to itself. */
function findWay(from: string, imported: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const before = new Map<string, string>();
  const waiting = [from];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    for (const target of imported.get(at) ?? []) {
      if (before.has(target)) continue;
      before.set(target, at);
      if (target !== from) waiting.push(target);
      else return wayTo(from, before);
    }
  }
  return undefined;
}

function wayTo(end: string, before: ReadonlyMap<string, string>): string[] {
  const way = [end];
  do way.unshift(before.get(way[0] ?? end) ?? end);
  while (way[0] !== end);
  return way;
}
