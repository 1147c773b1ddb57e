import { toolError, type ToolError } from "../error.ts";

/** One step: a key, an index from the start or the end, a range of a list, or all values. */
type Step = { key: string } | { index: number } | { from?: number; to?: number } | "all";

const STEP =
  /\.?\*|\.?([\p{L}_$][\p{L}\p{N}_$-]*)|\[\s*(?:\*|(-?\d+)|(-?\d*):(-?\d*)|("(?:[^"\\]|\\.)*"|'[^']*'))\s*\]/uy;

/** The value at a path such as `items[0].name` or `$.items[10:20]`. A range and `*` give lists. Throws an error. */
export function queryJson(data: unknown, path: string): unknown {
  return follow(data, parsePath(path), "$");
}

function parsePath(path: string): Step[] {
  const text = path.trim();
  const steps: Step[] = [];
  let at = /^\$(?=$|[.[])/.test(text) ? 1 : 0;
  while (at < text.length) {
    STEP.lastIndex = at;
    const match = STEP.exec(text);
    if (!match) throw badPath(path, `${JSON.stringify(text.slice(at, at + 40))} is not understood`);
    const [all, key, index, from, to, quoted] = match;
    if (key !== undefined) steps.push({ key });
    else if (index !== undefined) steps.push({ index: Number(index) });
    else if (quoted !== undefined) steps.push({ key: unquote(quoted) });
    else if (from !== undefined) steps.push({ from: numberOf(from), to: numberOf(to) });
    else steps.push("all");
    at += all.length;
  }
  return steps;
}

function unquote(quoted: string): string {
  return quoted.startsWith('"') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

function numberOf(text: string | undefined): number | undefined {
  return text ? Number(text) : undefined;
}

function follow(data: unknown, steps: readonly Step[], shown: string): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return data;
  if (step === "all") {
    if (typeof data !== "object" || data === null) throw missing(shown, data, "has no values inside it");
    return Object.entries(data).map(([key, value]) => follow(value, rest, `${shown}[${key}]`));
  }
  if ("key" in step) {
    if (typeof data !== "object" || data === null || !Object.hasOwn(data, step.key))
      throw missing(shown, data, `has no key ${JSON.stringify(step.key)}`);
    return follow(data[step.key as keyof typeof data], rest, `${shown}.${step.key}`);
  }
  if (!Array.isArray(data)) throw missing(shown, data, "is not a list");
  if ("index" in step) {
    const value: unknown = data.at(step.index);
    if (step.index >= data.length || step.index < -data.length) throw missing(shown, data, `has no item ${step.index}`);
    return follow(value, rest, `${shown}[${step.index}]`);
  }
  return data.slice(step.from, step.to).map((value, i) => follow(value, rest, `${shown}[${i}]`));
}

const MAX_KEYS = 20;

function missing(shown: string, data: unknown, problem: string): ToolError {
  return toolError("invalid_input", `${shown} ${problem}: it is ${describeJson(data)}.`, {
    next: "Correct the query, or query the part above it.",
  });
}

/** The shape of a value in a few words. */
function describeJson(data: unknown): string {
  if (Array.isArray(data)) return `a list of ${data.length}`;
  if (typeof data !== "object" || data === null) return data === null ? "null" : `a ${typeof data}`;
  const keys = Object.keys(data);
  const more = keys.length > MAX_KEYS ? `, … (${keys.length})` : "";
  return `an object with the keys ${keys.slice(0, MAX_KEYS).join(", ")}${more}`;
}

function badPath(path: string, problem: string): ToolError {
  return toolError("invalid_input", `The query ${JSON.stringify(path.slice(0, 200))} cannot be read: ${problem}.`, {
    next: 'Write a path such as items[0].name, items[10:20], items[*].id or ["a key"].name.',
  });
}
