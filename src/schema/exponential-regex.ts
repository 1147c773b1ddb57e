/** Bounded repetitions of more than so many are as bad as endless ones. */
const MANY = 10;
/** Of a fixed number of repetitions so many tell what there is to tell. */
const COPIES = 3;
/** Of one loop: the search for two ways follows pairs of steps. */
const MAX_POSITIONS = 200;
const MAX_STEPS = 1_000;
/** Larger ones are not judged. */
const MAX_TOTAL_POSITIONS = 5_000;

export type PatternJudgement = "sound" | "exponential" | "not judged";

export function isExponentialPattern(source: string): boolean {
  return judgePattern(source) === "exponential";
}

/**
 * Whether an engine that tries one way after the other may take exponential time: some part inside of a repetition can
 * match the same text in two ways. Expressions of this kind come from servers, and the texts from models. What takes
 * polynomial time is not found.
 */
export function judgePattern(source: string): PatternJudgement {
  const positions: string[] = [];
  const follows: Map<number, "once" | "twice">[] = [];
  let isTooLarge = false;
  const all = [parsePattern(source)];
  for (let node = all.pop(); node && !isTooLarge; node = all.pop()) build(node);
  if (isTooLarge) return "not judged";
  const loops = loopsOf();
  if (loops.some(isReachedTwice)) return "exponential";
  const judged = loops.map(judgeLoop);
  return judged.find((each) => each === "exponential") ?? judged.find((each) => each !== "sound") ?? "sound";

  /** Each set of places that lead back to each other. Two ways that begin and end at one place never leave its set. */
  function loopsOf(): ReadonlySet<number>[] {
    const group = componentsOf(follows.map((next) => [...next.keys()]));
    const sets = new Map<number, Set<number>>();
    for (const at of positions.keys()) {
      const set = sets.get(group[at]!) ?? new Set<number>();
      sets.set(group[at]!, set.add(at));
    }
    return [...sets.values()].filter((set) => set.size > 1 || [...set].some((at) => follows[at]!.has(at)));
  }

  function isReachedTwice(loop: ReadonlySet<number>): boolean {
    return [...loop].some((from) => [...follows[from]!].some(([to, how]) => how === "twice" && loop.has(to)));
  }

  function judgeLoop(loop: ReadonlySet<number>): PatternJudgement {
    const next = [...loop].map((from) => [...follows[from]!.keys()].filter((to) => loop.has(to)));
    const steps = next.reduce((sum, { length }) => sum + length, 0);
    if (loop.size > MAX_POSITIONS || steps > MAX_STEPS) return "not judged";
    return hasTwoWays([...loop], next) ? "exponential" : "sound";
  }

  /** Glushkov's automaton: a place for each character of the expression, and which may follow which. */
  function build(node: PatternNode): Ends {
    if (positions.length > MAX_TOTAL_POSITIONS) isTooLarge = true;
    if (isTooLarge) return NOTHING;
    switch (node.type) {
      case "empty":
        return NOTHING;
      case "aside":
        all.push(node.body);
        return NOTHING;
      case "any":
        return addPosition("[\\s\\S]");
      case "one":
        return addPosition(node.source);
      case "choice": {
        const parts = node.parts.map(build);
        return {
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
          isNullable: parts.some(({ isNullable }) => isNullable),
        };
      }
      case "sequence":
        return node.parts.map(build).reduce(join, NOTHING);
      case "repeat":
        return repeat(node);
    }
  }

  function addPosition(one: string): Ends {
    const at = positions.push(one) - 1;
    follows.push(new Map());
    return { first: [at], last: [at], isNullable: false };
  }

  function join(before: Ends, after: Ends): Ends {
    connect(before.last, after.first);
    return {
      first: before.isNullable ? [...before.first, ...after.first] : before.first,
      last: after.isNullable ? [...before.last, ...after.last] : after.last,
      isNullable: before.isNullable && after.isNullable,
    };
  }

  function repeat({ body, min, max }: PatternNode & { type: "repeat" }): Ends {
    const isEndless = max > min && max >= MANY;
    const fixed = Array.from({ length: Math.min(min, COPIES) }, () => build(body));
    if (isEndless) {
      const looped = fixed.pop() ?? build(body);
      connect(looped.last, looped.first);
      fixed.push(min === 0 ? { ...looped, isNullable: true } : looped);
      return fixed.reduce(join, NOTHING);
    }
    const optional = Array.from({ length: Math.max(0, max - min) }, () => ({ ...build(body), isNullable: true }));
    return [...fixed, ...optional].reduce(join, NOTHING);
  }

  function connect(from: readonly number[], to: readonly number[]): void {
    for (const one of from) for (const next of to) follows[one]!.set(next, follows[one]!.has(next) ? "twice" : "once");
  }

  /** Two walks over the same text that part and meet again, where they began. */
  function hasTwoWays(loop: readonly number[], next: readonly (readonly number[])[]): boolean {
    const numbers = new Map(loop.map((at, number) => [at, number]));
    const kinds = kindsOf(loop.map((at) => positions[at]!));
    const count = loop.length;
    const steps = next.map((to) => to.map((at) => numbers.get(at)!));
    const pairs = Array.from({ length: count * count }, (_, pair): number[] => {
      const right = steps[pair % count]!;
      return steps[Math.floor(pair / count)]!.flatMap((a) =>
        right.filter((b) => (kinds[a]! & kinds[b]!) !== 0n).map((b) => a * count + b),
      );
    });
    const group = componentsOf(pairs);
    const diagonal = new Set(loop.map((_, at) => group[at * count + at]));
    return pairs.some((_, pair) => pair % (count + 1) !== 0 && diagonal.has(group[pair]));
  }
}

interface Ends {
  first: readonly number[];
  last: readonly number[];
  isNullable: boolean;
}

const NOTHING: Ends = { first: [], last: [], isNullable: true };

const SAMPLES = ["a", "Z", "5", "_", "-", ".", " ", "\n", "é", "中", "\u{1F600}"];

/** Which of the characters that the expression can tell apart each place takes, a bit for each. */
function kindsOf(positions: readonly string[]): bigint[] {
  const named = new Set(SAMPLES);
  for (const character of positions.join("")) {
    const code = character.codePointAt(0)!;
    for (const near of [code - 1, code, code + 1])
      if (near > 0 && near < 0x10ffff) named.add(String.fromCodePoint(near));
  }
  const characters = [...named];
  return positions.map((source) => {
    const one = new RegExp(`^(?:${source})$`, "u");
    return characters.reduce((bits, character, at) => (one.test(character) ? bits | (1n << BigInt(at)) : bits), 0n);
  });
}

/** Strongly connected components (Tarjan), without recursion: of each node the number of its component. */
function componentsOf(edges: readonly (readonly number[])[]): number[] {
  const order = new Array<number>(edges.length).fill(-1);
  const low = new Array<number>(edges.length).fill(0);
  const component = new Array<number>(edges.length).fill(-1);
  const open: number[] = [];
  let counted = 0;
  let components = 0;
  for (let root = 0; root < edges.length; root++) {
    if (order[root] !== -1) continue;
    const path = [{ node: root, next: 0 }];
    order[root] = low[root] = counted++;
    open.push(root);
    while (path.length > 0) {
      const step = path.at(-1)!;
      const target = edges[step.node]![step.next++];
      if (target === undefined) {
        path.pop();
        const above = path.at(-1);
        if (above) low[above.node] = Math.min(low[above.node]!, low[step.node]!);
        if (low[step.node] !== order[step.node]) continue;
        for (let node = open.pop()!; ; node = open.pop()!) {
          component[node] = components;
          if (node === step.node) break;
        }
        components++;
      } else if (order[target] === -1) {
        order[target] = low[target] = counted++;
        open.push(target);
        path.push({ node: target, next: 0 });
      } else if (component[target] === -1) low[step.node] = Math.min(low[step.node]!, order[target]!);
    }
  }
  return component;
}

/** A regular expression, as far as its repetitions are concerned. */
type PatternNode =
  /** One character of some kind, in its own words. */
  | { type: "one"; source: string }
  /** A group again: it may match anything. */
  | { type: "any" }
  /** `^`, `$`, `\b`: matches nothing. */
  | { type: "empty" }
  | { type: "sequence"; parts: PatternNode[] }
  | { type: "choice"; parts: PatternNode[] }
  /** A look-around: matched by itself, beside the rest. */
  | { type: "aside"; body: PatternNode }
  | { type: "repeat"; body: PatternNode; min: number; max: number };

const GROUP = /\((?:\?(?:(?<aside><?[=!])|<[^>]*>|[\w-]*:))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;
const CHARACTER = /[\s\S]/uy;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|[\s\S])/y;

/** For expressions that the engine has accepted in Unicode mode; of others the answer means nothing. */
function parsePattern(source: string): PatternNode {
  let at = 0;

  function choice(): PatternNode {
    const parts = [sequence()];
    while (source[at] === "|") {
      at++;
      parts.push(sequence());
    }
    return parts.length === 1 ? parts[0]! : { type: "choice", parts };
  }

  function sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(quantified(atom()));
    return { type: "sequence", parts };
  }

  function quantified(body: PatternNode): PatternNode {
    const found = take(QUANTIFIER);
    if (!found) return body;
    const [, sign, min = "0", comma, max = ""] = found;
    if (sign) return { type: "repeat", body, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
    const upTo = comma === undefined ? Number(min) : max === "" ? Infinity : Number(max);
    return { type: "repeat", body, min: Number(min), max: upTo };
  }

  function atom(): PatternNode {
    const group = take(GROUP);
    if (group) {
      const body = choice();
      at++;
      return group.groups?.["aside"] === undefined ? body : { type: "aside", body };
    }
    const escape = take(ESCAPE)?.[0];
    if (escape !== undefined) {
      if (/^\\[bB]$/.test(escape)) return { type: "empty" };
      return /^\\(?:k<|[1-9])/.test(escape) ? { type: "any" } : { type: "one", source: escape };
    }
    const found = (take(CLASS) ?? take(CHARACTER))![0];
    return found === "^" || found === "$" ? { type: "empty" } : { type: "one", source: found };
  }

  function take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) at = pattern.lastIndex;
    return found ?? undefined;
  }

  return choice();
}
