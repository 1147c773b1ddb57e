// Explores every state that a model can reach, breadth first, so the trace of a violation is as short as possible.

export interface Step<State> {
  label: string;
  to: State;
  /** A kill, a lost lease, a cancel, a change of the files: it may happen. All other steps happen sooner or later. */
  isFault: boolean;
}

export interface Model<State extends object> {
  readonly start: State;
  steps(state: State): Step<State>[];
  /** What is wrong in this state, if anything. Such a state is not explored further. */
  violationIn(state: State): string | undefined;
  /** What is wrong in a state in which nothing more happens by itself. */
  violationAtEnd(state: State): string | undefined;
  /** How a schedule ended, in a few words. */
  describeEnd(state: State): string;
}

export interface Exploration {
  states: number;
  transitions: number;
  /** The ways in which schedules end. */
  ends: Set<string>;
  /** Each violation with the steps that lead to it. */
  violations: Map<string, string[]>;
}

export interface ExploreOptions {
  /** Default: false, so all violations are found. */
  stopAtFirst?: boolean;
}

/** States in which ordinary steps can go round for ever. With none, and no violation at any end, every schedule ends well. */
const ENDLESS = "stuck: ordinary steps can repeat for ever";

export function explore<State extends object>(
  model: Model<State>,
  { stopAtFirst = false }: ExploreOptions = {},
): Exploration {
  const explorer = new Explorer(model);
  explorer.run(stopAtFirst);
  return explorer.exploration();
}

class Explorer<State extends object> {
  readonly #model: Model<State>;
  readonly #keys = new KeyWriter();
  readonly #ids = new Map<string, number>();
  /** For each state, by id: the state it was first reached from, and by which step. */
  readonly #origins: number[] = [];
  readonly #labels: string[] = [];
  readonly #ordinarySteps: [from: number[], to: number[]] = [[], []];
  readonly #ends = new Set<string>();
  readonly #violations = new Map<string, string[]>();
  #transitions = 0;
  #next: { id: number; state: State }[] = [];

  constructor(model: Model<State>) {
    this.#model = model;
  }

  run(stopAtFirst: boolean): void {
    this.#visit(this.#model.start, -1, "");
    while (this.#next.length > 0) {
      const level = this.#next;
      this.#next = [];
      for (const { id, state } of level) {
        if (stopAtFirst && this.#violations.size > 0) return;
        this.#expand(id, state);
      }
    }
    const endless = firstInCycle(this.#ids.size, this.#ordinarySteps);
    if (endless !== undefined) this.#violate(ENDLESS, endless);
  }

  exploration(): Exploration {
    return {
      states: this.#ids.size,
      transitions: this.#transitions,
      ends: this.#ends,
      violations: this.#violations,
    };
  }

  #expand(id: number, state: State): void {
    let isEnd = true;
    for (const { label, to, isFault } of this.#model.steps(state)) {
      this.#transitions++;
      const target = this.#visit(to, id, label);
      if (isFault) continue;
      isEnd = false;
      this.#ordinarySteps[0].push(id);
      this.#ordinarySteps[1].push(target);
    }
    if (!isEnd) return;
    this.#ends.add(this.#model.describeEnd(state));
    const violation = this.#model.violationAtEnd(state);
    if (violation !== undefined) this.#violate(violation, id);
  }

  #visit(state: State, origin: number, label: string): number {
    const key = this.#keys.keyOf(state);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(key, id);
    this.#origins.push(origin);
    this.#labels.push(label);
    const violation = this.#model.violationIn(state);
    if (violation === undefined) this.#next.push({ id, state });
    else this.#violate(violation, id);
    return id;
  }

  #violate(violation: string, id: number): void {
    if (this.#violations.has(violation)) return;
    const trace: string[] = [];
    for (let at = id; at > 0; at = this.#origins[at] ?? 0) trace.unshift(this.#labels[at] ?? "");
    this.#violations.set(violation, trace);
  }
}

/** Turns a state into a short string: its values alone, one byte each. All states of a model have the same shape. */
class KeyWriter {
  readonly #bytes = Buffer.alloc(4096);
  readonly #words = new Map<string, number>();
  #length = 0;

  keyOf(state: object): string {
    this.#length = 0;
    this.#write(state);
    if (this.#length > this.#bytes.length || this.#words.size > 256) throw new RangeError("The state is too large.");
    return this.#bytes.toString("latin1", 0, this.#length);
  }

  // Most of the time is spent here: a loop over the names is twice as fast as Object.values.
  #write(value: unknown): void {
    if (typeof value === "number") this.#bytes[this.#length++] = value + 1;
    else if (typeof value === "string") this.#bytes[this.#length++] = this.#codeOf(value);
    else if (typeof value === "boolean") this.#bytes[this.#length++] = value ? 1 : 0;
    else if (Array.isArray(value)) {
      this.#bytes[this.#length++] = value.length;
      for (const part of value) this.#write(part);
    } else {
      const parts = value as Record<string, unknown>;
      for (const name in parts) this.#write(parts[name]);
    }
  }

  #codeOf(word: string): number {
    let code = this.#words.get(word);
    if (code === undefined) this.#words.set(word, (code = this.#words.size));
    return code;
  }
}

/** Removes, again and again, the states that no step leads to. The ones that remain are in a cycle or behind one. */
function firstInCycle(states: number, [from, to]: readonly [number[], number[]]): number | undefined {
  const incoming = new Uint32Array(states);
  const firstStep = new Uint32Array(states + 1);
  for (const target of to) incoming[target] = (incoming[target] ?? 0) + 1;
  // Steps are recorded state by state, so those of one state are neighbours.
  for (const origin of from) firstStep[origin + 1] = (firstStep[origin + 1] ?? 0) + 1;
  for (let id = 0; id < states; id++) firstStep[id + 1] = (firstStep[id + 1] ?? 0) + (firstStep[id] ?? 0);
  const free: number[] = [];
  for (let id = 0; id < states; id++) if (incoming[id] === 0) free.push(id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    for (let step = firstStep[id] ?? 0; step < (firstStep[id + 1] ?? 0); step++) {
      const target = to[step] ?? 0;
      incoming[target] = (incoming[target] ?? 0) - 1;
      if (incoming[target] === 0) free.push(target);
    }
  }
  const endless = incoming.findIndex((count) => count > 0);
  return endless === -1 ? undefined : endless;
}
