import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { Waiters } from "../../calls/waiters.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { formatIssues } from "../../schema/schema.ts";
import { toSchema } from "../../schema/json-schema-validator.ts";
import type { AnswerElicitation, ElicitationAnswer, ElicitationRequest } from "./server-requests.ts";

export type ServerQuestionChanges = Partial<Omit<ServerQuestion, "id">> & { state: ServerQuestionState };

/** Stores the questions of servers. Several processes may share a store: each method is atomic. */
export interface ServerQuestionStore {
  /** Whether other processes may write to it. */
  readonly shared: boolean;
  /** Returns false if `maxOpen` questions are open. */
  add(question: ServerQuestion, maxOpen: number): MaybePromise<boolean>;
  get(id: string): MaybePromise<ServerQuestion | undefined>;
  /** The newest `max` questions, oldest first. Cancels open questions whose process has ended. */
  list(state: ServerQuestionState | undefined, max: number): MaybePromise<ServerQuestion[]>;
  /** Changes the question if its state is still `from`, otherwise returns undefined. Keys with undefined are removed. */
  change(
    id: string,
    from: ServerQuestionState,
    changes: ServerQuestionChanges,
  ): MaybePromise<ServerQuestion | undefined>;
  /** Removes questions from before this time. */
  prune(before: number): MaybePromise<void>;
}

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
    // JSON drops the keys with undefined.
    const changed: ServerQuestion = JSON.parse(JSON.stringify({ ...question, ...changes }));
    this.#questions.set(id, changed);
    return structuredClone(changed);
  }

  prune(before: number): void {
    for (const { id, askedAt } of this.#questions.values()) if (askedAt < before) this.#questions.delete(id);
  }
}

export interface ServerQuestionsOptions {
  clock: Clock;
  store?: ServerQuestionStore;
  /** How long a person may take. Default: 10 minutes. */
  lifetimeMs?: number;
  /** How often a shared store is checked for answers. Default: 250. */
  pollMs?: number;
  /** Default: 50. */
  maxOpen?: number;
  /** Called before an answer is stored. If it rejects, the answer is rejected. */
  onAnswer?(question: ServerQuestion, answer: ServerQuestionAnswer): Promise<void>;
}

const LIFETIME_MS = 10 * 60_000;
const RETENTION_MS = 30 * 24 * 60 * 60_000;
const STATES = { accept: "accepted", decline: "declined", cancel: "cancelled" } as const;

/** Questions of servers to people, and their answers from any client. The first answer is used. */
export class ServerQuestions {
  readonly #clock: Clock;
  readonly #store: ServerQuestionStore;
  readonly #waiters: Waiters;
  /** How often a store that others write is read. */
  readonly #pollMs: number;
  readonly #lifetimeMs: number;
  readonly #maxOpen: number;
  readonly #onAnswer: ServerQuestionsOptions["onAnswer"];

  constructor(options: ServerQuestionsOptions) {
    const { clock, store = new MemoryServerQuestionStore(), pollMs = 250 } = options;
    this.#clock = clock;
    this.#store = store;
    this.#waiters = new Waiters(clock);
    this.#pollMs = store.shared ? pollMs : Infinity;
    this.#lifetimeMs = options.lifetimeMs ?? LIFETIME_MS;
    this.#maxOpen = options.maxOpen ?? 50;
    this.#onAnswer = options.onAnswer;
  }

  /** Stores a question and waits for its answer. Without an answer the server gets `cancel`. */
  readonly ask: AnswerElicitation = async (request, signal) => {
    const now = this.#clock.now();
    const question = newQuestion(request, now, this.#lifetimeMs);
    if (!(await this.#store.add(question, this.#maxOpen))) return { action: "cancel" };
    await this.#store.prune(now - RETENTION_MS);
    return this.#outcome(question.id, signal);
  };

  async list(state?: ServerQuestionState): Promise<ServerQuestion[]> {
    const all = await Promise.all((await this.#store.list(state, 1000)).map((question) => this.#expire(question)));
    return state === undefined ? all : all.filter((question) => question.state === state);
  }

  async get(id: string): Promise<ServerQuestion | undefined> {
    const question = await this.#store.get(id);
    return question && this.#expire(question);
  }

  /** Rejects if the question is closed, or if the fields of a form do not match its schema. */
  async answer(id: string, answer: ServerQuestionAnswer): Promise<ServerQuestion> {
    const question = await this.get(id);
    if (!question) throw toolError("invalid_input", `There is no question "${id}"`, { next: "List the open ones." });
    if (question.state !== "open") throw closedError(question);
    const content = answer.action === "accept" ? await readContent(question, answer) : undefined;
    await this.#onAnswer?.(question, answer);
    const changed = await this.#store.change(id, "open", {
      state: STATES[answer.action],
      answeredAt: this.#clock.now(),
      content,
      answeredBy: answer.by,
      answeredVia: answer.via,
    });
    this.#waiters.notify(id);
    if (!changed) throw closedError((await this.get(id)) ?? question);
    return changed;
  }

  async #outcome(id: string, signal: AbortSignal): Promise<ElicitationAnswer> {
    for (;;) {
      // Listen before reading the store, otherwise an answer in between is missed.
      const listener = this.#waiters.listen(id);
      try {
        const question = await this.get(id);
        if (!question) return { action: "cancel" };
        if (question.state !== "open") return await this.#take(question);
        if (signal.aborted) await this.#end(id, "cancelled", "The server no longer waits for it.");
        else {
          const maxMs = Math.min(Math.max(1, question.expiresAt - this.#clock.now()), this.#pollMs);
          // The caller keeps the process alive by other means.
          await listener.next({ maxMs, signal, keepsAlive: false });
        }
      } finally {
        listener.stop();
      }
    }
  }

  /** Returns the answer for the server and removes its content from the store. */
  async #take({ id, state, content }: ServerQuestion): Promise<ElicitationAnswer> {
    if (state !== "accepted" && state !== "declined") return { action: "cancel" };
    if (content) await this.#store.change(id, state, { state, content: undefined });
    return state === "accepted" ? { action: "accept", content } : { action: "decline" };
  }

  async #expire(question: ServerQuestion): Promise<ServerQuestion> {
    if (question.state !== "open" || question.expiresAt > this.#clock.now()) return question;
    return (await this.#end(question.id, "expired", "There was no answer in time.")) ?? question;
  }

  async #end(id: string, state: "expired" | "cancelled", note: string): Promise<ServerQuestion | undefined> {
    const ended = await this.#store.change(id, "open", { state, note });
    this.#waiters.notify(id);
    return ended ?? (await this.#store.get(id));
  }
}

function newQuestion(request: ElicitationRequest, now: number, lifetimeMs: number): ServerQuestion {
  const { mode, server, message, callIds } = request;
  return {
    id: `ask_${randomUUID()}`,
    server,
    callIds,
    mode,
    message,
    schema: request.mode === "form" ? request.schema : undefined,
    url: request.mode === "url" ? request.url.href : undefined,
    askedAt: now,
    expiresAt: now + lifetimeMs,
    state: "open",
  };
}

async function readContent({ mode, schema = {} }: ServerQuestion, { content = {} }: ServerQuestionAnswer) {
  if (mode === "url") return undefined;
  const checked = await toSchema(schema).validate(content);
  if (!checked.issues) return checked.value as FormContent;
  throw toolError("invalid_input", `The fields are invalid: ${formatIssues(checked.issues).join("; ")}`, {
    next: "Correct the fields, or decline.",
  });
}

function closedError({ state, answeredBy }: ServerQuestion): Error {
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  return toolError("conflict", `The question is closed: ${state}${by}`, { next: "Only the first answer is used." });
}

/** `cancelled`: the server withdrew it, or the person neither accepted nor declined. */
export type ServerQuestionState = "open" | "accepted" | "declined" | "cancelled" | "expired";

export type FormContent = Record<string, string | number | boolean | string[]>;

/** A question of an MCP server to a person. Plain JSON; the text of the server is shown as data. */
export interface ServerQuestion {
  id: string;
  server: string;
  /** The running calls of the server: which of them asks, it does not tell. */
  callIds?: readonly string[];
  /** `form`: fields to fill in, never secrets. `url`: a page to visit. */
  mode: "form" | "url";
  message: string;
  /** The schema of a form. */
  schema?: JsonSchema;
  /** The complete address of a page. */
  url?: string;
  askedAt: number;
  expiresAt: number;
  state: ServerQuestionState;
  /** Removed when the server has got it. */
  content?: FormContent;
  answeredBy?: string;
  /** The client that sent the answer, such as `http`. */
  answeredVia?: string;
  answeredAt?: number;
  /** Why there was no answer. */
  note?: string;
}

export interface ServerQuestionAnswer {
  action: "accept" | "decline" | "cancel";
  content?: FormContent;
  by?: string;
  via?: string;
}
