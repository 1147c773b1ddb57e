import ignore, { type Ignore } from "ignore";

export interface IgnoreText {
  /** The folder whose .gitignore it is, relative to the top; "" is the top itself. */
  directory: string;
  text: string;
}

/** Is a path, relative to the top, ignored? As git decides: the deepest file that speaks of it, folders before files. */
export type IgnoreRules = (path: string, isDirectory?: boolean) => boolean;

export function createIgnoreRules(texts: readonly IgnoreText[]): IgnoreRules {
  const files = texts
    .map(({ directory, text }) => ({
      start: directory === "" ? "" : `${directory}/`,
      rules: ignore({ ignoreCase: false }).add(text),
    }))
    .sort((a, b) => b.start.length - a.start.length);
  const decide = (path: string): boolean => {
    for (const { start, rules } of files) {
      if (!path.startsWith(start) || path.length === start.length) continue;
      const verdict = verdictOf(rules, path.slice(start.length));
      if (verdict !== null) return verdict;
    }
    return false;
  };
  return (path, isDirectory = false) => {
    const names = path.split("/");
    // What lies in an ignored folder cannot be taken back by a file further down.
    for (let depth = 1; depth < names.length; depth++) if (decide(`${names.slice(0, depth).join("/")}/`)) return true;
    return decide(isDirectory ? `${path}/` : path);
  };
}

function verdictOf(rules: Ignore, path: string): boolean | null {
  const { ignored, unignored } = rules.test(path);
  return ignored ? true : unignored ? false : null;
}
