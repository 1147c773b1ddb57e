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
