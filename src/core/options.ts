import { didYouMean } from "./nearest-name.ts";

/** The names of all properties of `T`, the main ones first. The compiler reports one that is missing or does not exist. */
/* @__NO_SIDE_EFFECTS__ */
export function keysOf<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/** The first keys are the main ones. */
const MAX_SHOWN = 8;

/** What is wrong with the keys of an options object, or undefined. Cheap if all are known: `execute` asks at every call. */
export function unknownKey(what: string, given: object, known: ReadonlySet<string>): string | undefined {
  for (const key in given) {
    if (known.has(key) || !Object.hasOwn(given, key)) continue;
    const main = [...known].slice(0, MAX_SHOWN).join(", ");
    const more = known.size > MAX_SHOWN ? ", …; see its type" : "";
    return `${what} has no option "${key}". ${didYouMean(key, known) ?? `Known: ${main}${more}.`}`;
  }
  return undefined;
}

/** Throws a TypeError for a key that is not known: a misspelt option that is ignored may be one that a caller relies on. */
export function checkKeys(what: string, given: object | undefined, known: ReadonlySet<string>): void {
  if (given === undefined) return;
  if (typeof given !== "object" || given === null) {
    throw new TypeError(`${what} must be an object with options, not ${given === null ? "null" : typeof given}.`);
  }
  const problem = unknownKey(what, given, known);
  if (problem !== undefined) throw new TypeError(problem);
}

/** Throws a TypeError for a word that is none of these. */
export function checkWords(what: string, given: Iterable<string | undefined>, known: readonly string[]): void {
  for (const word of given) {
    if (word === undefined || known.includes(word)) continue;
    const hint = didYouMean(String(word), known) ?? `Known: ${known.join(", ")}.`;
    throw new TypeError(`${what} is ${JSON.stringify(word)}. ${hint}`);
  }
}

/** `{ ...defaults, ...options }`, except that an option that is undefined keeps its default. */
export function withDefaults<Defaults extends object, Options extends object = Partial<Defaults>>(
  defaults: Defaults,
  options: Options | undefined,
): Defaults & Omit<Options, keyof Defaults> {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as Defaults & Omit<Options, keyof Defaults>;
}
