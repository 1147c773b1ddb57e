// Checks source files against the layer table: which folder may import which, and which may use the machine.
import { builtinModules } from "node:module";
import { posix } from "node:path";
import { type ModuleImport, parseModule } from "./parse-module.ts";

export interface Place {
  /** A folder or file below src/; `tools/*` makes every folder below tools/ a place of its own. */
  readonly place: string;
  /** Imports run from a higher layer to a lower one. */
  readonly layer: number;
  /** Places it may import besides itself; `below` is every lower layer, `types of X` admits only `import type`. */
  readonly mayImport: readonly string[];
  readonly builtins: "none" | "harmless" | "all";
}

export interface Architecture {
  readonly places: readonly Place[];
  /** Built-in modules that open a path, start a process or connect. */
  readonly guarded: readonly string[];
  /** Packages that are slow to load, so they may be imported only when first used. A trailing `*` matches the rest. */
  readonly heavy: readonly string[];
  /** Files that `heavy` protects, with all they load. */
  readonly lightEntries: readonly string[];
}

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly source: string;
}

interface Located {
  readonly place: Place;
  /** What stands for `*` in the place's name. */
  readonly name: string;
}

const BUILTINS = new Set(builtinModules);

/** Every violation as one line: where, what, and the rule. */
export function checkImports(files: readonly SourceFile[], architecture: Architecture): string[] {
  return files.flatMap(({ path, source }) => {
    const here = locate(path, architecture);
    if (here === undefined) return [`${path}:1 is in no folder of the layer table`];
    const { imports, fetches } = parseModule(source);
    const problems = imports.flatMap((each) => {
      const rule = each.specifier.startsWith(".")
        ? judgeOwnImport(path, here, each, architecture)
        : judgeForeignImport(here, each.specifier, architecture);
      return rule === undefined ? [] : [`${path}:${each.line} imports "${each.specifier}": ${rule}`];
    });
    if (path.startsWith("src/io/net/")) return problems;
    const rule = "only io/net/ connects; take its guarded fetch as an argument";
    return [...problems, ...fetches.map((line) => `${path}:${line} calls the global fetch: ${rule}`)];
  });
}

function locate(path: string, architecture: Architecture): Located | undefined {
  const [root, ...parts] = path.split("/");
  if (root !== "src") return undefined;
  for (const place of architecture.places) {
    const names = place.place.split("/");
    if (names.length > parts.length || !names.every((name, index) => name === "*" || name === parts[index])) continue;
    return { place, name: parts.slice(0, names.length).join("/") };
  }
  return undefined;
}

function judgeOwnImport(
  path: string,
  here: Located,
  { specifier, kind }: ModuleImport,
  architecture: Architecture,
): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  const there = locate(target, architecture);
  if (there === undefined) return "the target is in no folder of the layer table";
  if (there.name === here.name) return undefined;
  const { mayImport, layer } = here.place;
  const wanted = there.place.place;
  if (mayImport.includes(wanted)) return undefined;
  if (mayImport.includes("below") && there.place.layer < layer) return undefined;
  if (mayImport.includes(`types of ${wanted}`)) {
    return kind === "type" ? undefined : `${here.name} may import only types from ${there.name}`;
  }
  if (there.place.layer > layer) return `imports run down, and ${there.name} is above ${here.name}`;
  if (there.place.layer === layer)
    return `${here.name} and ${there.name} are in the same layer and do not import each other`;
  return `${here.name} may import only ${mayImport.join(", ") || "nothing"}`;
}

function judgeForeignImport(here: Located, specifier: string, architecture: Architecture): string | undefined {
  if (specifier === "haft" || specifier.startsWith("haft/"))
    return "sources import each other by path, not by package name";
  const builtin = toBuiltin(specifier);
  if (builtin === undefined) return undefined;
  if (here.place.builtins === "none") return `${here.name} uses no built-in module of Node`;
  if (here.place.builtins === "harmless" && architecture.guarded.includes(builtin)) {
    return `${here.name} may not open files, start processes or connect; io/ does`;
  }
  return undefined;
}

function toBuiltin(specifier: string): string | undefined {
  if (specifier.startsWith("node:")) return specifier;
  return BUILTINS.has(specifier) ? `node:${specifier}` : undefined;
}

/** Follows what loads at import time from each light entry, and names the way to every heavy package on it. */
export function checkLightness(files: readonly SourceFile[], architecture: Architecture): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return architecture.lightEntries.flatMap((entry) => {
    const problems: string[] = [];
    const waiting: { path: string; way: readonly string[] }[] = [{ path: entry, way: [entry] }];
    const seen = new Set([entry]);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { path, way } = next;
      const source = byPath.get(path)?.source;
      if (source === undefined) continue;
      for (const { specifier, kind, line } of parseModule(source).imports) {
        if (kind !== "static") continue;
        if (architecture.heavy.some((name) => matchesPackage(specifier, name))) {
          problems.push(
            `${path}:${line} loads "${specifier}" with ${entry} (${way.join(" > ")}): import it when first used`,
          );
        }
        const target = posix.join(posix.dirname(path), specifier);
        if (!specifier.startsWith(".") || seen.has(target)) continue;
        seen.add(target);
        waiting.push({ path: target, way: [...way, target] });
      }
    }
    return problems;
  });
}

function matchesPackage(specifier: string, name: string): boolean {
  return name.endsWith("*")
    ? specifier.startsWith(name.slice(0, -1))
    : specifier === name || specifier.startsWith(`${name}/`);
}
