import { type Approval, type ApprovalAnswer, type ApprovalState, type FollowOptions, toApproval } from "./approval.ts";
import type { Caller } from "../core/call.ts";
import { toolError } from "../core/error.ts";
import type { UserAnswer } from "../core/questions/user-question.ts";
import type { ToolResult } from "../core/result.ts";
import type { Calls } from "./calls.ts";
import { previewToText, type WholePreview } from "./shown-question.ts";
import type { StoredCall } from "./stored-call.ts";
import { storedResult } from "./stored-result.ts";

/** Runs a call when its question is answered. */
export interface AnswerRunner {
  answer(id: string, answer: ApprovalAnswer): Promise<ToolResult>;
  follow(id: string, options?: FollowOptions): Promise<ToolResult>;
}

/** The name of the person who answers, or more about the answer. */
type Answerer = string | Pick<ApprovalAnswer, "by" | "via" | "rights">;

export interface ApprovalPageQuery {
  /** `answered`: all but pending ones. Default: all. */
  state?: ApprovalState | "answered" | undefined;
  /** Default: 100. */
  limit?: number | undefined;
  /** `next` of the previous page. */
  cursor?: string | undefined;
}

/** Part of a list of approvals. */
export interface ApprovalPage {
  items: Approval[];
  /** The cursor of the following page; undefined on the last one. */
  next?: string | undefined;
  total: number;
}

/** Questions to people about calls, and their answers. A view of the stored calls. */
export class Approvals {
  readonly #calls: Calls;
  readonly #runner: AnswerRunner;

  constructor(calls: Calls, runner: AnswerRunner) {
    this.#calls = calls;
    this.#runner = runner;
  }

  /** Approves a question, and runs the call that waits for it. A string is the name of the person who answers. */
  async approve(id: string, answer?: string | Omit<ApprovalAnswer, "approved">): Promise<ToolResult> {
    return this.#runner.answer(id, { ...answererOf(answer), approved: true });
  }

  /** Denies a question; the model gets the reason. */
  async deny(id: string, reason?: string, answer?: Answerer): Promise<ToolResult> {
    return this.#runner.answer(id, { ...answererOf(answer), approved: false, reason });
  }

  /** Answers the questions of a call of `ask_user`, in their order, and gives the result of the call. */
  async answer(id: string, answers: readonly UserAnswer[], answer?: Answerer): Promise<ToolResult> {
    return this.#runner.answer(id, { ...answererOf(answer), approved: true, answers });
  }

  /** Follows the call that waits for an approval to its end, whichever process runs it. */
  follow(id: string, options?: FollowOptions): Promise<ToolResult> {
    return this.#runner.follow(id, options);
  }

  /** Oldest first. Of ended approvals the last thousand. `answered`: all that are not pending. */
  async list(state?: ApprovalState | "answered"): Promise<Approval[]> {
    const isOpen = state === "pending" ? true : state === "answered" ? false : undefined;
    const all = await this.#viewsOf(await this.#calls.questions({ isOpen }));
    if (state === undefined) return all;
    return all.filter((approval) => (state === "answered" ? approval.state !== "pending" : approval.state === state));
  }

  /** A page of the list, newest first. A page of one answered state may be short: `total` counts all answered ones. */
  async page({ state, limit = 100, cursor }: ApprovalPageQuery = {}): Promise<ApprovalPage> {
    const [, createdAt, id] = /^(\d+)\.(.+)$/.exec(cursor ?? "") ?? [];
    if (cursor !== undefined && id === undefined) {
      throw toolError("invalid_input", `"${cursor}" is not the cursor of a page`, { next: "Use `next` of a page." });
    }
    const before = id === undefined ? undefined : { createdAt: Number(createdAt), id };
    const isOpen = state === undefined ? undefined : state === "pending";
    const { rows, next, total } = await this.#calls.questionPage({ isOpen, before, max: limit });
    const items = await this.#viewsOf(rows);
    return {
      items: state === undefined || state === "answered" ? items : items.filter((approval) => approval.state === state),
      next: next && `${next.createdAt}.${next.id}`,
      total,
    };
  }

  /** Open questions about calls of this user in this session, oldest first. */
  async listOpen(of: Pick<Caller, "user" | "session">): Promise<Approval[]> {
    return this.#viewsOf(await this.#calls.questions({ isOpen: true, of }));
  }

  /** By its id. */
  async get(id: string): Promise<Approval | undefined> {
    const row = await this.#calls.get(id);
    return row?.question && this.#view(row);
  }

  /** All that would happen, for an approver. Only what was shown, if the question is answered or nothing was left out. */
  async whole(id: string): Promise<WholePreview> {
    const row = await this.#calls.get(id);
    const kept = row?.state === "waiting" ? await this.#calls.whole(id) : undefined;
    if (kept) return kept;
    const { preview, input } = row?.question ?? {};
    const text = preview ? previewToText(preview) : JSON.stringify(input ?? {}, undefined, 2);
    return { text, missing: preview?.omitted };
  }

  /** Stores an answer and runs nothing: the process whose caller waits runs the call, or a server. */
  async save(id: string, answer: ApprovalAnswer): Promise<Approval> {
    return toApproval(await this.#calls.answer(id, answer));
  }

  /** Resolves when it is answered in any process, or has expired. */
  async wait(id: string, signal?: AbortSignal): Promise<Approval> {
    return toApproval(await this.#calls.wait(id, ({ state }) => state !== "waiting", { signal }));
  }

  /** Resolves when the call itself has ended, or with the approval as it is after `ms`. */
  async waitForEnd(id: string, options: { ms?: number; signal?: AbortSignal } = {}): Promise<Approval> {
    return this.#view(await this.#calls.wait(id, ({ state }) => state === "ended", options));
  }

  /** The result of the call; undefined if it has not ended. */
  async result(id: string): Promise<ToolResult | undefined> {
    const row = await this.#calls.get(id);
    return row?.state === "ended" ? storedResult(row) : undefined;
  }

  /** The caller of the call waits in this process for this long: this process runs the call if it is approved. */
  async hold(id: string, ms: number): Promise<void> {
    const row = await this.#calls.get(id);
    if (row) await this.#calls.hold(row, ms);
  }

  /** The caller does not wait any more. The question stays for others. */
  async release(id: string): Promise<void> {
    await this.#calls.release(id);
  }

  /** The call is not wanted any more. Has no effect after it started. */
  async cancel(id: string, note: string): Promise<void> {
    await this.#calls.cancel(id, note);
  }

  #viewsOf(rows: readonly StoredCall[]): Promise<Approval[]> {
    return Promise.all(rows.map((row) => this.#view(row)));
  }

  async #view(row: StoredCall): Promise<Approval> {
    const hasCallerEnded = await this.#calls.hasLostCaller(row);
    return hasCallerEnded ? { ...toApproval(row), waitsUntil: undefined, hasCallerEnded } : toApproval(row);
  }
}

function answererOf<Answer extends object>(answer: string | Answer | undefined): Answer | { by: string } | undefined {
  if (typeof answer === "string") return { by: answer };
  if (answer && "approved" in answer) {
    throw toolError("invalid_input", 'The answer of approve() and deny() has no field "approved"', {
      next: "Remove it, or use approvals.save().",
    });
  }
  return answer;
}
