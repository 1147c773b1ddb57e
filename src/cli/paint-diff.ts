import type { Output } from "./output.ts";

/** A unified diff with its lines in the usual colours. */
export function paintDiff(diff: string, { paint }: Output): string {
  const style = (line: string) =>
    line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line;
  return diff.split("\n").map(style).join("\n");
}
