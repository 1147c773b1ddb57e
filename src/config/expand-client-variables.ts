import { basename, sep } from "node:path";
import { type Environment, expandVariables } from "./expand-variables.ts";
import type { McpDialect } from "./mcp-server-config.ts";

export interface ClientVariables {
  env: Environment;
  home: string;
  /** What `${workspaceFolder}` stands for. */
  folder: string;
}

const EDITOR_FORM = /^\$\{((env|input):.+|workspaceFolder(Basename)?|userHome)\}$/;

/** Expands a text as the client would whose file it stands in. What has no value stays as written and is told. */
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
      // Entries are pasted here from everywhere: the forms of editors are understood too, in one pass.
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
  }
}
