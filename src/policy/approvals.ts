import type { Call, CallOptions, Caller, ToolScope } from "../core/call.ts";
import { toolOf } from "../core/call.ts";
import { canonicalJson } from "../core/canonical-json.ts";
import type { Clock } from "../core/clock.ts";
import { declarationOf } from "../core/definition.ts";
import type { AnyTool, Preview } from "../core/tool.ts";

/** A question to a person, bound to exactly one call. */
export interface Approval {
  id: string;
  callId: string;
  toolName: string;
  input: unknown;
  caller: Caller;
  reason: string;
  preview?: Preview;
  askedAt: number;
  state: "open" | "approved" | "declined";
  answeredBy?: string;
  answeredAt?: number;
  /** Why it was declined: told to the model. */
  note?: string;
}

export interface ApprovalAnswer {
  approved: boolean;
  by?: string;
  reason?: string;
}

/** A call as it was made, to make it again. */
export interface Resumption {
  name: string;
  input: unknown;
  options: CallOptions;
  scope: ToolScope | undefined;
  /** What the approver was shown. */
  tool: AnyTool;
  /** Whether the tool itself was called, and not a name. */
  isDirect: boolean;
}

/** The question as it is kept, with what makes an answer void when it changes. */
interface Question {
  approval: Approval;
  binding: string;
  resume: Resumption;
  used: boolean;
}

/** Questions and their answers, in memory. An answer counts once, for the very call that was shown. */
export class Approvals {
  readonly #questions = new Map<string, Question>();
  readonly #byBinding = new Map<string, Question>();
  readonly #clock: Clock;
  readonly #capacity: number;

  constructor(clock: Clock, capacity = 1000) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  list(state?: Approval["state"]): Approval[] {
    const all = Array.from(this.#questions.values(), ({ approval }) => approval);
    return state ? all.filter((approval) => approval.state === state) : all;
  }

  get(id: string): Approval | undefined {
    return this.#questions.get(id)?.approval;
  }

  /** The question for this call: a repeated call asks no second one. */
  ask(call: Call, reason: string, preview: Preview | undefined): Approval {
    const binding = bindingOf(call);
    const asked = this.#byBinding.get(binding);
    if (asked && asked.approval.state === "open") return asked.approval;
    const approval: Approval = {
      id: newId(),
      callId: call.id,
      toolName: toolOf(call).name,
      input: call.accepted,
      caller: call.caller,
      reason,
      ...(preview ? { preview } : {}),
      askedAt: this.#clock.now(),
      state: "open",
    };
    const { signal: _signal, onUpdate: _onUpdate, ...options } = call.options;
    const resume: Resumption = {
      name: call.requestedName,
      input: call.accepted,
      options: { ...options, id: call.id },
      scope: call.scope,
      tool: toolOf(call),
      isDirect: call.isDirect,
    };
    const question: Question = { approval, binding, resume, used: false };
    this.#questions.set(approval.id, question);
    this.#byBinding.set(binding, question);
    this.#dropAnswered();
    return approval;
  }

  /** The first answer wins; the same one again changes nothing, another one is refused. */
  answer(id: string, { approved, by, reason }: ApprovalAnswer): Approval {
    const question = this.#questions.get(id);
    if (!question) throw new RangeError(`There is no approval "${id}".`);
    const { approval } = question;
    const state = approved ? "approved" : "declined";
    if (approval.state !== "open" && approval.state !== state) {
      throw new RangeError(
        `Approval "${id}" was ${approval.state} already${approval.answeredBy ? ` by ${approval.answeredBy}` : ""}.`,
      );
    }
    if (approval.state === state) return approval;
    approval.state = state;
    approval.answeredAt = this.#clock.now();
    if (by !== undefined) approval.answeredBy = by;
    if (reason !== undefined) approval.note = reason;
    return approval;
  }

  /** Uses up the answer to this very call; undefined where none was given, or it was used. */
  take(call: Call): Approval | undefined {
    const question = this.#byBinding.get(bindingOf(call));
    if (!question || question.approval.state === "open" || question.used) return undefined;
    // A yes counts once; a no stays a no for this very call.
    if (question.approval.state === "approved") question.used = true;
    return question.approval;
  }

  /** Open questions are never dropped. */
  #dropAnswered(): void {
    for (const [id, { approval, binding }] of this.#questions) {
      if (this.#questions.size <= this.#capacity) return;
      if (approval.state === "open") continue;
      this.#questions.delete(id);
      this.#byBinding.delete(binding);
    }
  }

  /** What to run when the answer was yes. */
  resumeOf(id: string): Resumption | undefined {
    const question = this.#questions.get(id);
    return question && !question.used ? question.resume : undefined;
  }
}

/** Not to be guessed: who knows it may be let to answer. */
function newId(): string {
  return `apr_${Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}

const definitions = new WeakMap<AnyTool, string>();

function definitionOf(tool: AnyTool): string {
  let definition = definitions.get(tool);
  if (definition === undefined) definitions.set(tool, (definition = canonicalJson(declarationOf(tool))));
  return definition;
}

/** Everything that an approver saw. If any of it differs, it is another call. */
function bindingOf(call: Call): string {
  const tool = toolOf(call);
  const { session, agent, user } = call.caller;
  return canonicalJson([
    call.id,
    tool.name,
    tool.version,
    definitionOf(tool),
    call.accepted,
    [session, agent, user],
    call.options.allowedPaths,
  ]);
}
