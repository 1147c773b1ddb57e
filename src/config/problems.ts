/** The path from the root of a file to a value. */
export type ConfigPath = readonly (string | number)[];

/** Lines and columns count from 1. */
export interface SourcePosition {
  line: number;
  column: number;
}

/** An error or a warning about a configuration, with its position. */
export interface ConfigProblem {
  /** Undefined for overrides of a caller. */
  file?: string;
  line?: number;
  column?: number;
  /** The key as text: `tools.mcpServers[0].url`. */
  path?: string;
  message: string;
}

/** A configuration that cannot be used, with all its problems. */
export class ConfigError extends Error {
  /** Each with its file and line. */
  readonly problems: readonly ConfigProblem[];
  /** What a parser read in spite of the problems. Only its denials may be used. */
  readonly readable: unknown;

  constructor(problems: readonly ConfigProblem[], options?: { cause?: unknown; readable?: unknown }) {
    super(problems.map(showProblem).join("\n"), options);
    this.name = "ConfigError";
    this.problems = problems;
    this.readable = options?.readable;
  }
}

/** `haft.config.yml:3:5 tools.timeot: …`, as editors and terminals link it. */
export function showProblem({ file, line, column, path, message }: ConfigProblem): string {
  const at = line === undefined ? "" : `:${line}${column === undefined ? "" : `:${column}`}`;
  const where = [file === undefined ? "" : `${file}${at}`, path ? `${path}:` : ""].filter(Boolean).join(" ");
  return where ? `${where} ${message}` : message;
}

export function showPath(path: ConfigPath): string {
  let shown = "";
  for (const part of path) {
    if (typeof part === "number") shown += `[${part}]`;
    else if (/^[\w$@-]+$/.test(part)) shown += shown ? `.${part}` : part;
    else shown += `[${JSON.stringify(part)}]`;
  }
  return shown;
}

/** Paths as keys of a Map. */
export function pathKey(path: ConfigPath): string {
  return JSON.stringify(path);
}

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
