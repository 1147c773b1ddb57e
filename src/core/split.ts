import type { AnyTool } from "./tool.ts";

/** A weighted split between versions of one tool. */
export interface Split {
  arms: readonly { arm: string; tool: AnyTool; weight: number }[];
}

/** Picks an arm. One session always gets the same arm: a conversation that sees two tools under one name is confused. */
export function chooseArm(split: Split, key: string): { arm: string; tool: AnyTool } {
  const total = split.arms.reduce((sum, { weight }) => sum + weight, 0);
  let left = spread(key) * total;
  for (const candidate of split.arms) {
    left -= candidate.weight;
    if (left < 0) return candidate;
  }
  return split.arms.at(-1)!;
}

/** FNV-1a with a final mix, as a number in [0, 1): even for keys that differ in their last character only. */
function spread(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
