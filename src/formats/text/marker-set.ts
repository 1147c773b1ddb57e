/** Markers that a text is searched for together, in one pass. `*:` in a marker is any namespace. */
export interface MarkerSet {
  readonly markers: readonly string[];
  /** The first of them from `from` on. */
  search(text: string, from: number): RegExpExecArray | null;
  readonly firsts: ReadonlySet<string>;
  readonly longest: number;
  markerOf(match: RegExpExecArray): string;
  /** How long the marker is at the beginning of `text`; 0 where it is not there. */
  lengthAt(marker: string, text: string): number;
}

const MAX_NAMESPACE_LENGTH = 24;
const WILD = `[A-Za-z][\\w-]{0,${MAX_NAMESPACE_LENGTH - 1}}`;

/** Markers hold names that come from models: what is kept is bounded. */
const MAX_KEPT = 500;
const kept = new Map<string, MarkerSet>();

export function markerSet(markers: readonly string[]): MarkerSet {
  const key = markers.length === 1 ? markers[0]! : markers.join("\n");
  let set = kept.get(key);
  if (!set) {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, (set = compile(markers)));
  }
  return set;
}

function compile(markers: readonly string[]): MarkerSet {
  // The longest first: of two that begin alike, a pattern takes the first.
  const sorted = [...new Set(markers)].sort((a, b) => b.length - a.length);
  const wild = sorted.filter((marker) => marker.includes("*:"));
  const wildPatterns = wild.map((marker) => new RegExp(`^${markerPattern(marker)}`));
  const wildAt = (text: string) => wildPatterns.findIndex((pattern) => pattern.test(text));
  const alternatives = sorted.length > 0 ? sorted.map(markerPattern).join("|") : "(?!)";
  const firsts = new Set(sorted.map((marker) => marker[0]!));
  let search: MarkerSet["search"] | undefined;
  return {
    markers: sorted,
    search(text, from) {
      // Compiled when it is first used: most formats never are.
      search ??= firsts.size === 1 ? searchByFirst([...firsts][0]!, alternatives) : searchByPattern(alternatives);
      return search(text, from);
    },
    firsts,
    longest: Math.max(0, ...sorted.map((marker) => marker.length + (marker.includes("*:") ? MAX_NAMESPACE_LENGTH : 0))),
    markerOf: ([found]) => (wild.length === 0 || sorted.includes(found) ? found : wild[wildAt(found)]!),
    lengthAt(marker, text) {
      if (!marker.includes("*:")) return text.startsWith(marker) ? marker.length : 0;
      return wildPatterns[wild.indexOf(marker)]!.exec(text)?.[0].length ?? 0;
    },
  };
}

function searchByPattern(alternatives: string): MarkerSet["search"] {
  const pattern = new RegExp(alternatives, "g");
  return (text, from) => {
    pattern.lastIndex = from;
    return pattern.exec(text);
  };
}

/** Prose has few angle brackets, and to jump from one to the next is many times faster than to try a pattern everywhere. */
function searchByFirst(first: string, alternatives: string): MarkerSet["search"] {
  const pattern = new RegExp(alternatives, "y");
  return (text, from) => {
    for (let at = text.indexOf(first, from); at !== -1; at = text.indexOf(first, at + 1)) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match) return match;
    }
    return null;
  };
}

export function markerPattern(marker: string): string {
  return marker.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&").replace("\\*:", `${WILD}:`);
}

/** Whether the text, from there to its end, is a beginning of the marker, but not all of it. */
export function couldBecome(marker: string, text: string, from: number): boolean {
  let at = from;
  for (let i = 0; i < marker.length; i++) {
    if (at === text.length) return true;
    if (marker[i] === "*" && marker[i + 1] === ":") {
      let end = at;
      while (end < text.length && end - at < MAX_NAMESPACE_LENGTH && /[\w-]/.test(text[end]!)) end++;
      if (end === text.length) return /^[A-Za-z]/.test(text[at]!);
      if (end === at) return false;
      at = end;
    } else if (text[at++] !== marker[i]) return false;
  }
  return false;
}
