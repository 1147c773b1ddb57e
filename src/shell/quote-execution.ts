import type { PlainExecution } from "./analyse-command.ts";

/**
 * The text that makes a POSIX shell run exactly these words: every one quoted, so that nothing in it is expanded, and every
 * program by its absolute path, so that no function, alias or folder decides what it is. Undefined where a program is
 * not found.
 */
export function quoteExecution(
  { pipelines }: PlainExecution,
  programPath: (name: string) => string | undefined,
): string | undefined {
  const parts: string[] = [];
  for (const { operator, commands } of pipelines) {
    const quoted = commands.map(({ argv: [program = "", ...words], env = {} }) => {
      const path = programPath(program);
      const settings = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
      return path === undefined ? undefined : [...settings, ...[path, ...words].map(quote)].join(" ");
    });
    if (quoted.includes(undefined)) return undefined;
    if (operator !== undefined) parts.push(operator);
    parts.push(quoted.join(" | "));
  }
  return parts.length > 0 ? parts.join(" ") : undefined;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
