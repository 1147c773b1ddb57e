import { distance } from "fastest-levenshtein";
import type { AnyTool } from "../../core/tool.ts";

interface ProgramError {
  name: string;
  message: string;
  line?: number;
  column?: number;
}

const GLOBALS = ["tools", "api", "console"];
const UNAVAILABLE: Readonly<Record<string, string>> = {
  fetch: "There is no network in a program: call tools.http_get or tools.web_fetch.",
  require: "There are no modules in a program: everything is a tool.",
  process: "There is no process in a program: call tools.get_env for variables.",
  setTimeout: "There are no timers in a program: call tools.sleep.",
};

/** What went wrong, where, the line itself, and what is probably meant. */
export function explainError(error: ProgramError, code: string, tools: readonly AnyTool[]): string {
  const where = error.line === undefined ? "" : ` (line ${error.line}, column ${error.column ?? 1})`;
  const source = error.line === undefined ? undefined : code.split("\n")[error.line - 1]?.trim();
  const shown = source ? [`> ${source.length > 200 ? `${source.slice(0, 199)}…` : source}`] : [];
  const advice = adviceFor(error.message, tools);
  return [`${error.name}: ${error.message}${where}`, ...shown, ...(advice ? [advice] : [])].join("\n");
}

function adviceFor(message: string, tools: readonly AnyTool[]): string | undefined {
  const name = /^'?([\w$]+)'? is not defined/.exec(message)?.[1];
  if (name === undefined) return undefined;
  if (Object.hasOwn(UNAVAILABLE, name)) return UNAVAILABLE[name];
  const calls = tools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const near = nearest(name, [...calls, ...GLOBALS]);
  if (near === undefined) return `Programs have tools, api and console. Find tools with api.search("…").`;
  return `Did you mean ${GLOBALS.includes(near) ? near : `tools.${near}(…)`}?`;
}

function nearest(name: string, names: readonly string[]): string | undefined {
  let best: { name: string; far: number } | undefined;
  for (const one of names) {
    const far = distance(name.toLowerCase(), one.toLowerCase());
    if (!best || far < best.far) best = { name: one, far };
  }
  return best && best.far <= Math.max(1, Math.floor(name.length / 3)) ? best.name : undefined;
}
