import { parseCommand } from "./parse-command.ts";

/** The simple commands of a text as written, without their redirections: for display and for rules on text. */
export function splitCommands(text: string): string[] {
  return parseCommand(text)
    .commands.map(({ source }) => source)
    .filter(Boolean);
}

/** Whether any part of the text redirects a stream, here-documents included. Text that cannot be read counts as yes. */
export function hasRedirection(text: string): boolean {
  const { redirections, problem } = parseCommand(text);
  return redirections.length > 0 || (problem !== undefined && problem.kind !== "empty");
}

const WRAPPER =
  /^\s*(?:(?:\S*[\\/])?(?:sh|bash|zsh|dash|ksh)(?:\.exe)?\s+-l?c|(?:\S*[\\/])?cmd(?:\.exe)?\s+\/c|(?:\S*[\\/])?(?:powershell|pwsh)(?:\.exe)?\s+(?:-NoProfile\s+)?-Command)\s+/i;

/** The text inside `bash -c "…"`, `cmd /c …` and the like, for display; decisions use unwrapCommand. */
export function stripWrapper(text: string): string {
  const wrapper = WRAPPER.exec(text);
  if (!wrapper) return text.trim();
  const inner = text.slice(wrapper[0].length).trim();
  return /^(["'])[^]*\1$/.test(inner) && inner.length > 1 ? inner.slice(1, -1) : inner;
}
