import { BoundedMap } from "../../core/bounded-map.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { errorMessage } from "../../core/error.ts";
import { type LearnedWords, QuestionWords } from "../../core/search/learned-words.ts";
import {
  addQuestions,
  addUse,
  dropOldest,
  likelihoodOf,
  type ToolUse,
  type ToolUseChange,
  type ToolUseStore,
} from "../../core/search/tool-use.ts";
import type { MaybePromise } from "../../core/stage.ts";

/** What is known of one user, in memory. */
interface Profile {
  readonly tools: Map<string, ToolUse>;
  readonly words: QuestionWords;
  loadedAt: number;
}

interface Waiting {
  uses: number;
  questions: string[];
}

/** Profiles in memory; the one that was not used for the longest time leaves first. */
const MAX_PROFILES = 200;
/** Other processes may have taught more since. */
const FRESH_MS = 60_000;
/** Uses are frequent and not evidence: they are written in groups, and a killed process loses the last ones. */
const GROUPED_MS = 1_000;
const WARN_EVERY_MS = 60_000;

export interface ToolUsesOptions {
  store: ToolUseStore;
  clock: Clock;
  warn(message: string): void;
}

/** The use of tools by the users of one workspace. No user's data is in another user's profile. */
export class ToolUses {
  readonly #options: ToolUsesOptions;
  readonly #profiles = new BoundedMap<string, Profile>(MAX_PROFILES);
  readonly #loading = new Map<string, Promise<void>>();
  /** By user and tool: not yet in the profile and the store. */
  #waiting = new Map<string, Map<string, Waiting>>();
  readonly #warnedAt = new Map<"read" | "saved", number>();
  #timer: Timer | undefined;
  #writes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ToolUsesOptions) {
    this.#options = options;
  }

  /** Reads what the user has taught, if it is not known here. A search that does not wait for it is only less good. */
  ready(user: string): MaybePromise<void> {
    const known = this.#profiles.get(user);
    if (known && this.#options.clock.now() - known.loadedAt < FRESH_MS) return undefined;
    const loading = this.#loading.get(user);
    if (loading) return loading;
    try {
      const loaded = this.#load(user);
      if (!(loaded instanceof Promise)) return this.#keep(user, loaded);
      const keeping = loaded
        .then((rows) => this.#keep(user, rows))
        .catch((error: unknown) => this.#keepWithoutRows(user, error))
        .finally(() => this.#loading.delete(user));
      this.#loading.set(user, keeping);
      return keeping;
    } catch (error) {
      return this.#keepWithoutRows(user, error);
    }
  }

  /** The words of this user's questions, as far as they are known now. */
  wordsOf(user: string): LearnedWords | undefined {
    return this.#find(user)?.words;
  }

  /** Whether what the user has taught is known here. */
  isReady(user: string): boolean {
    return this.#profiles.has(user);
  }

  /** How likely the user needs each tool; a tool that is not in the map was not used. */
  likelihoods(user: string): ReadonlyMap<string, number> {
    const now = this.#options.clock.now();
    const known = this.#find(user)?.tools ?? new Map<string, ToolUse>();
    const likelihoods = new Map(Array.from(known.values(), (use) => [use.tool, likelihoodOf(use, now)]));
    for (const [tool, { uses }] of this.#waiting.get(user) ?? [])
      likelihoods.set(tool, (likelihoods.get(tool) ?? 0) + uses);
    return likelihoods;
  }

  /** Counts a successful call, and learns the questions that led to it. */
  add(user: string, tool: string, questions: readonly string[] = []): void {
    void this.ready(user);
    const change = this.#waitingFor(user, tool);
    change.uses++;
    // A message leads to many calls of the same tool.
    if (questions.every((question) => question === change.questions.at(-1))) return;
    change.questions = addQuestions(change.questions, questions);
    const profile = this.#profiles.get(user);
    profile?.words.set(tool, addQuestions(profile.tools.get(tool)?.questions ?? [], change.questions));
  }

  async forget(user: string, tool?: string): Promise<number> {
    await this.flush();
    const count = await this.#options.store.forget(user, tool);
    this.#profiles.delete(user);
    await this.ready(user);
    return count;
  }

  /** Writes what was added. A failure is reported, never thrown: no call depends on it. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const loading = [...this.#loading.values()];
    this.#writes++;
    this.#writing = this.#writing
      .then(async () => {
        // A profile that is being read does not have these changes yet.
        await Promise.all(loading);
        const changes = this.#takeWaiting();
        if (changes.length > 0) await this.#options.store.add(changes);
      })
      .catch((error: unknown) => this.#report("saved", error))
      .finally(() => this.#writes--);
    return this.#writing;
  }

  #waitingFor(user: string, tool: string): Waiting {
    let tools = this.#waiting.get(user);
    if (!tools) this.#waiting.set(user, (tools = new Map()));
    let change = tools.get(tool);
    if (!change) tools.set(tool, (change = { uses: 0, questions: [] }));
    if (!this.#timer) {
      this.#timer = this.#options.clock.after(GROUPED_MS, () => void this.flush());
      this.#timer.setRef(false);
    }
    return change;
  }

  #takeWaiting(): ToolUseChange[] {
    const lastUsedAt = this.#options.clock.now();
    const changes = Array.from(this.#waiting, ([user, tools]) =>
      Array.from(tools, ([tool, { uses, questions }]) => ({ user, tool, uses, questions, lastUsedAt })),
    ).flat();
    this.#waiting = new Map();
    for (const change of changes) this.#apply(change);
    return changes;
  }

  #apply({ user, ...change }: ToolUseChange): void {
    const profile = this.#profiles.get(user);
    if (!profile) return;
    profile.tools.set(change.tool, addUse(profile.tools.get(change.tool), change));
    const dropped = dropOldest(profile.tools);
    if (dropped !== undefined) profile.words.set(dropped, []);
  }

  /** What waits is written first, so nothing is counted twice or missing. */
  #load(user: string): MaybePromise<readonly ToolUse[]> {
    const { store } = this.#options;
    if (this.#waiting.size === 0 && this.#writes === 0) return store.load(user);
    return this.flush().then(() => store.load(user));
  }

  #keep(user: string, rows: readonly ToolUse[]): void {
    const profile: Profile = { tools: new Map(), words: new QuestionWords(), loadedAt: this.#options.clock.now() };
    for (const use of rows) {
      profile.tools.set(use.tool, use);
      profile.words.set(use.tool, use.questions);
    }
    // Added while the rows were read.
    for (const [tool, { questions }] of this.#waiting.get(user) ?? []) {
      if (questions.length > 0)
        profile.words.set(tool, addQuestions(profile.tools.get(tool)?.questions ?? [], questions));
    }
    this.#profiles.set(user, profile);
  }

  /** A store that fails is read again after the usual time, not at every call. */
  #keepWithoutRows(user: string, error: unknown): void {
    this.#report("read", error);
    const known = this.#profiles.get(user);
    if (known) known.loadedAt = this.#options.clock.now();
    else this.#keep(user, []);
  }

  #find(user: string): Profile | undefined {
    void this.ready(user);
    const profile = this.#profiles.get(user);
    if (!profile) return undefined;
    this.#profiles.set(user, profile);
    return profile;
  }

  #report(what: "read" | "saved", error: unknown): void {
    const now = this.#options.clock.now();
    if (now - (this.#warnedAt.get(what) ?? -Infinity) < WARN_EVERY_MS) return;
    this.#warnedAt.set(what, now);
    this.#options.warn(`The use of tools could not be ${what}: ${errorMessage(error)}`);
  }
}
