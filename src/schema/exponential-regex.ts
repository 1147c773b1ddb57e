/** Bounded repetitions of at least this many are treated like unbounded ones. */
const MANY = 10;
/** How many copies of a character that is repeated a fixed number of times are built: more give no further information. */
const COPIES = 3;
/** Patterns of a higher degree are treated like exponential ones: they take seconds for a hundred characters. */
const MAX_DEGREE = 4;
/** Steps of the search for the degree. A pattern that needs more gets the limit of degree 2. */
const MAX_VISITS = 200_000;
/** Steps that a match may take: less than a second. */
const MAX_MATCH_STEPS = 2e7;
/** Limits of one loop: the search for two ways follows pairs of steps. */
const MAX_POSITIONS = 200;
const MAX_STEPS = 1_000;
/** Larger patterns are not judged. */
const MAX_TOTAL_POSITIONS = 5_000;

type PatternJudgement = "sound" | "exponential" | "not judged";

export function isExponentialPattern(source: string): boolean {
  return judgePattern(source) === "exponential";
}

/** No pattern that passes the judgement needs a limit for shorter texts. */
const ALWAYS_SHORT = 100;

/** A test in bounded time. Throws for a text too long for a polynomial pattern: "no match" is wrong inside `not`. */
export function boundedTest(source: string): (text: string) => boolean {
  const regex = new RegExp(source, "u");
  let maxLength: number | undefined;
  return (text) => {
    if (text.length > ALWAYS_SHORT && text.length > (maxLength ??= maxLengthFor(source))) {
      throw new Error(`a text of ${text.length} characters is too long for the pattern ${source} (max ${maxLength})`);
    }
    return regex.test(text);
  };
}

/** The longest text that is matched with a pattern. Infinity if its time grows in proportion to the text. */
export function maxLengthFor(source: string): number {
  const root = parsePattern(source);
  const automaton = new Automaton(root);
  const degree = automaton.isTooLarge ? 2 : degreeOf(automaton);
  // A search without a fixed start tries every start, if the end decides.
  const isSearch = degree > 0 && (root.type === "choice" || !source.startsWith("^")) && source.includes("$");
  const power = degree + (isSearch ? 1 : 0);
  return power < 2 ? Infinity : Math.max(ALWAYS_SHORT, Math.floor(MAX_MATCH_STEPS ** (1 / power)));
}

/** Whether a backtracking engine may take exponential time: two ways through a repetition, or many in a row. */
export function judgePattern(source: string): PatternJudgement {
  const automaton = new Automaton(parsePattern(source));
  if (automaton.isTooLarge) return "not judged";
  const loops = automaton.loops();
  if (loops.some(isReachedTwice)) return "exponential";
  const judgements = loops.map(judgeLoop);
  if (judgements.includes("exponential") || degreeOf(automaton) > MAX_DEGREE) return "exponential";
  return judgements.find((each) => each !== "sound") ?? "sound";
}

/** The power of the text's length in a match's time: grows with pairs of repetitions such as `a*a*`, not `a*ba*`. */
function degreeOf(automaton: Automaton): number {
  const loops = automaton.loops();
  if (loops.length < 2) return loops.length;
  const kinds = kindsOf(automaton.positions);
  const budget = { visits: MAX_VISITS };
  // The last repetition first, so that the degrees of those that follow are known.
  const known: { loop: ReadonlySet<Position>; degree: number }[] = [];
  for (const loop of loops) {
    const reached = reachedFrom(loop);
    let degree = 1;
    for (const next of known.toReversed()) {
      if (![...next.loop].some((position) => reached.has(position))) continue;
      if (next.degree + 1 <= degree) continue;
      degree = Math.max(degree, next.degree + (canMoveBetween(loop, next.loop, kinds, budget) ? 1 : 0));
      if (degree > MAX_DEGREE) return degree;
      if (budget.visits <= 0) return 2;
    }
    known.push({ loop, degree });
  }
  return Math.max(...known.map(({ degree }) => degree));
}

function reachedFrom(loop: ReadonlySet<Position>): ReadonlySet<Position> {
  const reached = new Set(loop);
  for (const position of reached) for (const next of position.follows.keys()) reached.add(next);
  return reached;
}

/** Whether a text stays in the first loop, leads from it to the second, and stays in the second. */
function canMoveBetween(
  first: ReadonlySet<Position>,
  second: ReadonlySet<Position>,
  kinds: ReadonlyMap<Position, bigint>,
  budget: { visits: number },
): boolean {
  const kindOf = (position: Position): bigint => kinds.get(position) ?? 0n;
  for (const start of first) {
    for (const end of second) {
      const seen = new Map<Position, Map<Position, Set<Position>>>();
      const open: [Position, Position, Position][] = [[start, start, end]];
      for (let state = open.pop(); state; state = open.pop()) {
        const [stays, moves, ends] = state;
        for (const left of stays.nextIn(first)) {
          for (const right of ends.nextIn(second)) {
            const both = kindOf(left) & kindOf(right);
            if (both === 0n) continue;
            for (const middle of moves.follows.keys()) {
              if (--budget.visits <= 0) return true;
              if ((both & kindOf(middle)) === 0n) continue;
              if (left === start && middle === end && right === end) return true;
              const row = getOrAdd(seen, left, () => new Map<Position, Set<Position>>());
              const cell = getOrAdd(row, middle, () => new Set<Position>());
              if (cell.has(right)) continue;
              cell.add(right);
              open.push([left, middle, right]);
            }
          }
        }
      }
    }
  }
  return false;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

/** A character of the pattern, and the positions that may follow it. */
class Position {
  readonly follows = new Map<Position, "once" | "twice">();

  constructor(readonly source: string) {}

  nextIn(loop: ReadonlySet<Position>): Position[] {
    return [...this.follows.keys()].filter((next) => loop.has(next));
  }
}

interface Ends {
  first: readonly Position[];
  last: readonly Position[];
  isNullable: boolean;
}

const NOTHING: Ends = { first: [], last: [], isNullable: true };

/** Glushkov's automaton: one position per character of the pattern. */
class Automaton {
  readonly positions: Position[] = [];
  /** Patterns that match on their own, such as look-arounds. */
  readonly #separate: PatternNode[];
  isTooLarge = false;

  constructor(root: PatternNode) {
    this.#separate = [root];
    for (let node = this.#separate.pop(); node && !this.isTooLarge; node = this.#separate.pop()) this.#build(node);
  }

  /**
   * The sets of positions that lead back to each other, the last first. Two ways from a position back to itself stay in its
   * set.
   */
  loops(): ReadonlySet<Position>[] {
    const nodes = new Map(this.positions.map((position) => [position, new GraphNode()]));
    for (const [position, node] of nodes) {
      for (const next of position.follows.keys()) node.connect(nodes.get(next));
    }
    assignComponents(nodes.values());
    const sets = new Map<number, Set<Position>>();
    for (const [position, { component }] of nodes) {
      sets.set(component, (sets.get(component) ?? new Set()).add(position));
    }
    // Components are numbered after all that they lead to.
    const inOrder = [...sets].toSorted(([a], [b]) => a - b).map(([, set]) => set);
    return inOrder.filter((set) => set.size > 1 || [...set].some(({ follows }) => isSubset(set, follows)));
  }

  #build(node: PatternNode): Ends {
    if (this.positions.length > MAX_TOTAL_POSITIONS) this.isTooLarge = true;
    if (this.isTooLarge) return NOTHING;
    switch (node.type) {
      case "empty":
        return NOTHING;
      case "separate":
        this.#separate.push(node.body);
        return NOTHING;
      case "any":
        return this.#addPosition("[\\s\\S]");
      case "one":
        return this.#addPosition(node.source);
      case "choice": {
        const parts = node.parts.map((part) => this.#build(part));
        return {
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
          isNullable: parts.some(({ isNullable }) => isNullable),
        };
      }
      case "sequence":
        return node.parts.map((part) => this.#build(part)).reduce(join, NOTHING);
      case "repeat":
        return this.#repeat(node);
    }
  }

  #addPosition(source: string): Ends {
    const position = new Position(source);
    this.positions.push(position);
    return { first: [position], last: [position], isNullable: false };
  }

  #repeat({ body, min, max }: PatternNode & { type: "repeat" }): Ends {
    const isCharacter = body.type === "one";
    // A fixed number of characters has one way to match, a fixed number of groups may have many.
    const isEndless = max >= MANY && (max > min || !isCharacter);
    const copies = isEndless || isCharacter ? Math.min(min, COPIES) : min;
    const fixed = Array.from({ length: copies }, () => this.#build(body));
    if (isEndless) {
      const looped = fixed.pop() ?? this.#build(body);
      connect(looped.last, looped.first);
      fixed.push(min === 0 ? { ...looped, isNullable: true } : looped);
      return fixed.reduce(join, NOTHING);
    }
    const optional = Array.from({ length: Math.max(0, max - min) }, () => ({ ...this.#build(body), isNullable: true }));
    return [...fixed, ...optional].reduce(join, NOTHING);
  }
}

function isSubset(set: ReadonlySet<Position>, follows: ReadonlyMap<Position, unknown>): boolean {
  return [...set].every((position) => follows.has(position));
}

function join(before: Ends, after: Ends): Ends {
  connect(before.last, after.first);
  return {
    first: before.isNullable ? [...before.first, ...after.first] : before.first,
    last: after.isNullable ? [...before.last, ...after.last] : after.last,
    isNullable: before.isNullable && after.isNullable,
  };
}

function connect(from: readonly Position[], to: readonly Position[]): void {
  for (const { follows } of from) for (const next of to) follows.set(next, follows.has(next) ? "twice" : "once");
}

function isReachedTwice(loop: ReadonlySet<Position>): boolean {
  return [...loop].some(({ follows }) => [...follows].some(([to, times]) => times === "twice" && loop.has(to)));
}

function judgeLoop(loop: ReadonlySet<Position>): PatternJudgement {
  const steps = [...loop].reduce((sum, position) => sum + position.nextIn(loop).length, 0);
  if (loop.size > MAX_POSITIONS || steps > MAX_STEPS) return "not judged";
  return hasTwoWays(loop) ? "exponential" : "sound";
}

/** Whether two walks over the same text separate and meet again where they started. */
function hasTwoWays(loop: ReadonlySet<Position>): boolean {
  const kinds = kindsOf([...loop]);
  const steps = [...kinds].map(([position, kind]) => ({ position, kind, next: position.nextIn(loop) }));
  const rows = new Map(
    steps.map(({ position: left }) => [left, new Map(steps.map((step) => [step.position, new GraphNode()]))]),
  );
  for (const left of steps) {
    const from = rows.get(left.position);
    for (const leftNext of left.next) {
      const kind = kinds.get(leftNext) ?? 0n;
      const to = rows.get(leftNext);
      for (const right of steps) {
        for (const rightNext of right.next) {
          if ((kind & (kinds.get(rightNext) ?? 0n)) !== 0n) from?.get(right.position)?.connect(to?.get(rightNext));
        }
      }
    }
  }
  const pairs = [...rows].flatMap(([left, row]) => [...row].map(([right, node]) => ({ isSame: left === right, node })));
  assignComponents(pairs.map(({ node }) => node));
  const diagonal = new Set(pairs.filter(({ isSame }) => isSame).map(({ node }) => node.component));
  return pairs.some(({ isSame, node }) => !isSame && diagonal.has(node.component));
}

const SAMPLES = ["a", "Z", "5", "_", "-", ".", " ", "\n", "é", "中", "\u{1F600}"];

/** The characters that each position matches, as bits. Uses characters that the pattern distinguishes. */
function kindsOf(positions: readonly Position[]): Map<Position, bigint> {
  const samples = new Set(SAMPLES);
  for (const character of positions.map(({ source }) => source).join("")) {
    const code = character.codePointAt(0) ?? 0;
    for (const near of [code - 1, code, code + 1]) {
      if (near > 0 && near < 0x10ffff) samples.add(String.fromCodePoint(near));
    }
  }
  const characters = [...samples];
  return new Map(
    positions.map((position) => {
      const pattern = new RegExp(`^(?:${position.source})$`, "u");
      const bits = characters.reduce(
        (sum, character, at) => (pattern.test(character) ? sum | (1n << BigInt(at)) : sum),
        0n,
      );
      return [position, bits];
    }),
  );
}

class GraphNode {
  readonly next: GraphNode[] = [];
  order = -1;
  low = -1;
  component = -1;

  connect(node: GraphNode | undefined): void {
    if (node) this.next.push(node);
  }
}

/** Finds strongly connected components (Tarjan) without recursion. */
function assignComponents(nodes: Iterable<GraphNode>): void {
  const open: GraphNode[] = [];
  let visited = 0;
  let components = 0;
  const enter = (node: GraphNode) => {
    node.order = node.low = visited++;
    open.push(node);
    return { node, edges: node.next.values() };
  };
  for (const root of nodes) {
    if (root.order !== -1) continue;
    const path = [enter(root)];
    for (let step = path.at(-1); step; step = path.at(-1)) {
      const { node, edges } = step;
      const { done, value: target } = edges.next();
      if (done) {
        path.pop();
        const parent = path.at(-1)?.node;
        if (parent) parent.low = Math.min(parent.low, node.low);
        if (node.low !== node.order) continue;
        for (let member = open.pop(); member; member = member === node ? undefined : open.pop()) {
          member.component = components;
        }
        components++;
      } else if (target.order === -1) path.push(enter(target));
      else if (target.component === -1) node.low = Math.min(node.low, target.order);
    }
  }
}

/** The structure of a regular expression, as far as it concerns repetitions. */
type PatternNode =
  /** One character, as a pattern. */
  | { type: "one"; source: string }
  /** A back reference: it may match anything. */
  | { type: "any" }
  /** `^`, `$`, `\b`: matches no character. */
  | { type: "empty" }
  | { type: "sequence"; parts: PatternNode[] }
  | { type: "choice"; parts: PatternNode[] }
  /** A look-around: matched separately from the rest. */
  | { type: "separate"; body: PatternNode }
  | { type: "repeat"; body: PatternNode; min: number; max: number };

const GROUP = /\((?:\?(?:(?<lookaround><?[=!])|<[^>]*>|[\w-]*:))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;
const CHARACTER = /[\s\S]/uy;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|[\s\S])/y;

/** Parses a pattern that is valid in Unicode mode. For others the result is meaningless. */
function parsePattern(source: string): PatternNode {
  let at = 0;

  function choice(): PatternNode {
    const first = sequence();
    if (source[at] !== "|") return first;
    const parts = [first];
    while (source[at] === "|") {
      at++;
      parts.push(sequence());
    }
    return { type: "choice", parts };
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
      return group.groups?.["lookaround"] === undefined ? body : { type: "separate", body };
    }
    const escape = take(ESCAPE)?.[0];
    if (escape !== undefined) {
      if (/^\\[bB]$/.test(escape)) return { type: "empty" };
      return /^\\(?:k<|[1-9])/.test(escape) ? { type: "any" } : { type: "one", source: escape };
    }
    const found = (take(CLASS) ?? take(CHARACTER))?.[0] ?? "";
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
