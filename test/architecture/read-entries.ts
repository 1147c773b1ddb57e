// The entry points of the package, as "exports" in package.json names them, with the source behind each.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Entry {
  readonly specifier: string;
  readonly source: string;
}

export function readEntries(): Entry[] {
  const text = readFileSync(join(ROOT, "package.json"), "utf8");
  const { name, exports } = JSON.parse(text) as { name: string; exports: Record<string, string | { default: string }> };
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    return [
      {
        specifier: subpath.replace(".", name),
        source: target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"),
      },
    ];
  });
}
