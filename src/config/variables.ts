import { basename, sep } from "node:path";
import type { McpDialect } from "./mcp-entries.ts";
import type { ConfigPath } from "./problems.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = /\$(\$?)\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** `${VAR}` and `${VAR:-default}` (also where VAR is empty); `$${VAR}` stays `${VAR}`. Missing ones stay as written. */
function expandVariables(text: string, env: Environment, onMissing: (name: string) => void): string {
  return text.replace(VARIABLE, (whole, escape: string, name: string, fallback: string | undefined) => {
    if (escape) return whole.slice(1);
    const value = env[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) onMissing(name);
    return value ?? whole;
  });
}

export interface Expansion {
  value: unknown;
  /** Paths of expanded texts. They may become a number or a boolean if the schema wants one. */
  expanded: ConfigPath[];
}

/** Expands the texts of a value, except keys and paths for which `isLiteral` is true. */
export function expandAll(
  value: unknown,
  env: Environment,
  { isLiteral, onMissing }: { isLiteral(path: ConfigPath): boolean; onMissing(name: string, path: ConfigPath): void },
): Expansion {
  const expanded: ConfigPath[] = [];
  const expand = (each: unknown, path: ConfigPath): unknown => {
    if (isLiteral(path)) return each;
    if (typeof each === "string") {
      if (!each.includes("${")) return each;
      expanded.push(path);
      return expandVariables(each, env, (name) => onMissing(name, path));
    }
    if (Array.isArray(each)) return each.map((item, index) => expand(item, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, field]) => [key, expand(field, [...path, key])]));
  };
  return { value: expand(value, []), expanded };
}

export interface ClientVariables {
  env: Environment;
  home: string;
  /** The value of `${workspaceFolder}`. */
  folder: string;
}

const EDITOR_FORM = /^\$\{((env|input):.+|workspaceFolder(Basename)?|userHome)\}$/;

/** Expands a text as the client of its file does. Variables without a value stay as written and are reported. */
export function expandClientVariables(
  text: string,
  dialect: McpDialect,
  { env, home, folder }: ClientVariables,
  onMissing: (what: string) => void,
): string {
  const lookUp = (name: string, whole: string): string => {
    if (env[name] === undefined) onMissing(name);
    return env[name] ?? whole;
  };
  const expandEditor = (part: string): string =>
    part.replace(/\$\{([^}]*)\}/g, (whole, inner: string) => {
      const name = /^env:(.+)$/.exec(inner)?.[1];
      if (name !== undefined) return lookUp(name, whole);
      const fixed: Record<string, string> = {
        workspaceFolder: folder,
        workspaceFolderBasename: basename(folder),
        userHome: home,
        pathSeparator: sep,
        "/": sep,
      };
      if (Object.hasOwn(fixed, inner)) return fixed[inner]!;
      onMissing(inner);
      return whole;
    });
  switch (dialect) {
    case "haft":
      // People paste entries from many clients, so the forms of editors are accepted too.
      return text.replace(/\$?\$\{[^}]*\}/g, (part) =>
        EDITOR_FORM.test(part) ? expandEditor(part) : expandVariables(part, env, onMissing),
      );
    case "claude":
    case "openclaw":
      return expandVariables(text, env, onMissing);
    case "cursor":
    case "vscode":
      return expandEditor(text);
    case "gemini":
      return text.replace(
        /\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g,
        (whole, braced?: string, bare?: string, percent?: string) => lookUp((braced ?? bare ?? percent)!, whole),
      );
    case "codex":
      return text;
    case "opencode":
      return text.replace(/\{(env|file):([^}]+)\}/g, (whole, kind: string, name: string) => {
        if (kind === "env") return lookUp(name, whole);
        onMissing(whole);
        return whole;
      });
  }
}
