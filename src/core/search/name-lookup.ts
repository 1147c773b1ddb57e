import { foldCase } from "./words.ts";

/** Names without regard to case and separators: readFile, read_file and "read file" are one. */
export interface NameLookup {
  add(name: string, slot: number): void;
  remove(name: string, slot: number): void;
  exact(name: string): readonly number[];
  /** Slots with the share of their name that the beginning covers. */
  startingWith(beginning: string): { slot: number; share: number }[];
}

const bucketLetters = 2;

export function createNameLookup(): NameLookup {
  const slotsByName = new Map<string, number[]>();
  const namesByBeginning = new Map<string, Set<string>>();

  function add(name: string, slot: number): void {
    const squashed = squash(name);
    if (squashed === "") return;
    const slots = slotsByName.get(squashed);
    if (slots !== undefined) {
      if (!slots.includes(slot)) slots.push(slot);
      return;
    }
    slotsByName.set(squashed, [slot]);
    const beginning = squashed.slice(0, bucketLetters);
    const names = namesByBeginning.get(beginning);
    if (names === undefined) namesByBeginning.set(beginning, new Set([squashed]));
    else names.add(squashed);
  }

  function remove(name: string, slot: number): void {
    const squashed = squash(name);
    const rest = slotsByName.get(squashed)?.filter((other) => other !== slot) ?? [];
    if (rest.length > 0) {
      slotsByName.set(squashed, rest);
      return;
    }
    slotsByName.delete(squashed);
    namesByBeginning.get(squashed.slice(0, bucketLetters))?.delete(squashed);
  }

  function exact(name: string): readonly number[] {
    return slotsByName.get(squash(name)) ?? [];
  }

  function startingWith(beginning: string): { slot: number; share: number }[] {
    const squashed = squash(beginning);
    if (squashed.length < bucketLetters) return [];
    const found: { slot: number; share: number }[] = [];
    for (const name of namesByBeginning.get(squashed.slice(0, bucketLetters)) ?? []) {
      if (!name.startsWith(squashed)) continue;
      for (const slot of slotsByName.get(name) ?? []) found.push({ slot, share: squashed.length / name.length });
    }
    return found;
  }

  return { add, remove, exact, startingWith };
}

function squash(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase().replace(/[^a-z0-9]+/g, "");
  return foldCase(name).replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}
