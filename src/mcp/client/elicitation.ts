import { randomUUID } from "node:crypto";
import { AnswerNotifier } from "../../calls/answer-notifier.ts";
import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { formatIssues } from "../../schema/schema.ts";
import { toSchema } from "../../schema/to-schema.ts";
import type { AnswerElicitation, ElicitationAnswer, ElicitationRequest } from "./server-requests.ts";

export type ServerQuestionChanges = Partial<Omit<ServerQuestion, "id">> & { state: ServerQuestionState };

/** Where the questions of servers are kept. Several processes may share one: each method is one step for all of them. */
export interface ServerQuestionStore {
  /** Whether others than this process may write to it. */
  readonly shared: boolean;
  /** False where `maxOpen` are open already. */
  add(question: ServerQuestion, maxOpen: number): MaybePromise<boolean>;
  get(id: string): MaybePromise<ServerQuestion | undefined>;
  /** The newest so many, oldest first. An open one whose asker's process is gone is cancelled. */
  list(state: ServerQuestionState | undefined, max: number): MaybePromise<ServerQuestion[]>;
  /** Only where the state is still `from`; undefined where it is not. A key that is given as undefined is dropped. */
  change(
    id: string,
    from: ServerQuestionState,
    changes: ServerQuestionChanges,
  ): MaybePromise<ServerQuestion | undefined>;
  /** Drops what was asked before that time. */
  prune(before: number): MaybePromise<void>;
}

/** Nothing outlives this process. */
export class MemoryServerQuestionStore implements ServerQuestionStore {
  readonly shared = false;
  readonly #questions = new Map<string, ServerQuestion>();

  add(question: ServerQuestion, maxOpen: number): boolean {
    let open = 0;
    for (const { state } of this.#questions.values()) if (state === "open") open++;
    if (open >= maxOpen) return false;
    this.#questions.set(question.id, structuredClone(question));
    return true;
  }

  get(id: string): ServerQuestion | undefined {
    return structuredClone(this.#questions.get(id));
  }

  list(state: ServerQuestionState | undefined, max: number): ServerQuestion[] {
    const all = [...this.#questions.values()].filter((question) => state === undefined || question.state === state);
    return structuredClone(all.slice(-max));
  }

  change(id: string, from: ServerQuestionState, changes: ServerQuestionChanges): ServerQuestion | undefined {
    const question = this.#questions.get(id);
    if (question?.state !== from) return undefined;
    const changed = withChanges(question, changes);
    this.#questions.set(id, changed);
    return structuredClone(changed);
  }

  prune(before: number): void {
    for (const { id, askedAt } of this.#questions.values()) if (askedAt < before) this.#questions.delete(id);
  }
}

function withChanges(question: ServerQuestion, changes: ServerQuestionChanges): ServerQuestion {
  const entries = Object.entries({ ...question, ...structuredClone(changes) });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as unknown as ServerQuestion;
}

export interface ServerQuestionsOptions {
  clock: Clock;
  store?: ServerQuestionStore;
  /** How long a person has. */
  lifetimeMs?: number;
  /** How often answers of other processes are looked for. */
  pollMs?: number;
  maxOpen?: number;
  /** Told of an answer before it counts: where it rejects, it does not. */
  onAnswer?(question: ServerQuestion, answer: ServerQuestionAnswer): Promise<void>;
}

const LIFETIME_MS = 10 * 60_000;
const RETENTION_MS = 30 * 24 * 60 * 60_000;
const STATES = { accept: "accepted", decline: "declined", cancel: "cancelled" } as const;
const ACTIONS = { accepted: "accept", declined: "decline" } as const;

/** What servers ask people, and what they answer through whatever door. The first answer counts. */
export class ServerQuestions {
  readonly #clock: Clock;
  readonly #store: ServerQuestionStore;
  readonly #answerNotifier: AnswerNotifier;
  readonly #lifetimeMs: number;
  readonly #maxOpen: number;
  readonly #onAnswer: ServerQuestionsOptions["onAnswer"];

  constructor(options: ServerQuestionsOptions) {
    const { clock, store = new MemoryServerQuestionStore(), pollMs = 250 } = options;
    this.#clock = clock;
    this.#store = store;
    this.#answerNotifier = new AnswerNotifier(clock, store.shared ? pollMs : undefined);
    this.#lifetimeMs = options.lifetimeMs ?? LIFETIME_MS;
    this.#maxOpen = options.maxOpen ?? 50;
    this.#onAnswer = options.onAnswer;
  }

  /** Asks, and waits for whoever answers; a server is told `cancel` where nobody does. */
  readonly ask: AnswerElicitation = async (request, signal) => {
    const now = this.#clock.now();
    const question = newQuestion(request, now, this.#lifetimeMs);
    if (!(await this.#store.add(question, this.#maxOpen))) return { action: "cancel" };
    await this.#store.prune(now - RETENTION_MS);
    return this.#outcome(question.id, signal);
  };

  async list(state?: ServerQuestionState): Promise<ServerQuestion[]> {
    const all = await Promise.all((await this.#store.list(state, 1000)).map((question) => this.#seen(question)));
    return state === undefined ? all : all.filter((question) => question.state === state);
  }

  async get(id: string): Promise<ServerQuestion | undefined> {
    const question = await this.#store.get(id);
    return question && this.#seen(question);
  }

  /** Refused where it is answered or over, and where a form's fields are not what was asked for. */
  async answer(id: string, answer: ServerQuestionAnswer): Promise<ServerQuestion> {
    const question = await this.get(id);
    if (!question) throw toolError("invalid_input", `There is no question "${id}"`, { next: "List the open ones." });
    if (question.state !== "open") throw over(question);
    const content = answer.action === "accept" ? await readContent(question, answer) : undefined;
    await this.#onAnswer?.(question, answer);
    const changed = await this.#store.change(id, "open", {
      state: STATES[answer.action],
      answeredAt: this.#clock.now(),
      content,
      answeredBy: answer.by,
      answeredVia: answer.via,
    });
    this.#answerNotifier.notify(id);
    if (!changed) throw over((await this.get(id)) ?? question);
    return changed;
  }

  async #outcome(id: string, signal: AbortSignal): Promise<ElicitationAnswer> {
    for (;;) {
      // Listened to before the store is asked, so that nothing falls between.
      const answerNotifier = this.#answerNotifier.listen(id);
      try {
        const question = await this.get(id);
        if (!question) return { action: "cancel" };
        if (question.state !== "open") return await this.#take(question);
        if (signal.aborted) await this.#end(id, "cancelled", "The server no longer waits for it.");
        else await answerNotifier.next(Math.max(1, question.expiresAt - this.#clock.now()), signal);
      } finally {
        answerNotifier.stop();
      }
    }
  }

  /** What was filled in is the server's now, and is kept nowhere else. */
  async #take({ id, state, content }: ServerQuestion): Promise<ElicitationAnswer> {
    if (state !== "accepted" && state !== "declined") return { action: "cancel" };
    if (content) await this.#store.change(id, state, { state, content: undefined });
    return {
      action: ACTIONS[state],
      content: state === "accepted" && content ? content : undefined,
    } as ElicitationAnswer;
  }

  async #seen(question: ServerQuestion): Promise<ServerQuestion> {
    if (question.state !== "open" || question.expiresAt > this.#clock.now()) return question;
    return (await this.#end(question.id, "expired", "Nobody answered in time.")) ?? question;
  }

  async #end(id: string, state: "expired" | "cancelled", note: string): Promise<ServerQuestion | undefined> {
    const ended = await this.#store.change(id, "open", { state, note });
    this.#answerNotifier.notify(id);
    return ended ?? (await this.#store.get(id));
  }
}

function newQuestion(request: ElicitationRequest, now: number, lifetimeMs: number): ServerQuestion {
  const { mode, server, message } = request;
  return {
    id: `ask_${randomUUID()}`,
    server,
    mode,
    message,
    ...(request.mode === "form" ? { schema: request.schema } : { url: request.url.href }),
    askedAt: now,
    expiresAt: now + lifetimeMs,
    state: "open",
  };
}

async function readContent({ mode, schema }: ServerQuestion, { content = {} }: ServerQuestionAnswer) {
  if (mode === "url") return undefined;
  const checked = await toSchema(schema!).validate(content);
  if (!checked.issues) return checked.value as typeof content;
  throw toolError("invalid_input", `This is not what is asked for: ${formatIssues(checked.issues).join("; ")}`, {
    next: "Correct the fields, or decline.",
  });
}

function over({ state, answeredBy }: ServerQuestion): Error {
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  return toolError("conflict", `The question is over: ${state}${by}`, { next: "The first answer counts." });
}

/** `cancelled`: taken back by the server, or the person did not want to say either way. */
export type ServerQuestionState = "open" | "accepted" | "declined" | "cancelled" | "expired";

export type FormContent = Record<string, string | number | boolean | string[]>;

/** What an MCP server asks a person while it works. Plain data; the server's words are shown as data. */
export interface ServerQuestion {
  id: string;
  server: string;
  /** `form`: fields to fill in, never with a secret. `url`: a page to visit. */
  mode: "form" | "url";
  message: string;
  /** Of a form: what its fields take. */
  schema?: JsonSchema;
  /** Of a page: its whole address. */
  url?: string;
  askedAt: number;
  expiresAt: number;
  state: ServerQuestionState;
  /** Until whoever asked has read it. */
  content?: FormContent;
  answeredBy?: string;
  /** The door that the answer came through. */
  answeredVia?: string;
  answeredAt?: number;
  /** Why nobody answered. */
  note?: string;
}

export interface ServerQuestionAnswer {
  action: "accept" | "decline" | "cancel";
  content?: FormContent;
  by?: string;
  via?: string;
}
