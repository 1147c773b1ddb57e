import { type ConfigPath, pathKey } from "./problems.ts";

export interface Dropped {
  value: unknown;
  /** The path of a value before other items of its list were removed. */
  originalOf(path: ConfigPath): ConfigPath;
}

/** A copy without the values at the given paths. */
export function dropPaths(value: unknown, paths: readonly ConfigPath[]): Dropped {
  const dropped = new Set(paths.map(pathKey));
  const keptIndexes = new Map<string, number[]>();
  const copy = (each: unknown, path: ConfigPath): unknown => {
    if (Array.isArray(each)) {
      const kept = each.flatMap((_, index) => (dropped.has(pathKey([...path, index])) ? [] : [index]));
      keptIndexes.set(pathKey(path), kept);
      return kept.map((index) => copy(each[index], [...path, index]));
    }
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).flatMap(([key, field]) => {
        const at = [...path, key];
        return dropped.has(pathKey(at)) ? [] : [[key, copy(field, at)]];
      }),
    );
  };
  return {
    value: dropped.size === 0 ? value : copy(value, []),
    originalOf(path) {
      let original: ConfigPath = [];
      for (const part of path) {
        const kept = typeof part === "number" ? keptIndexes.get(pathKey(original)) : undefined;
        original = [...original, typeof part === "number" ? (kept?.[part] ?? part) : part];
      }
      return original;
    },
  };
}

export function isBelow(path: ConfigPath, parent: ConfigPath): boolean {
  return parent.every((part, index) => path[index] === part);
}
