import type { CallOptions, Caller, Verdict } from "../core/call.ts";
import type { Preview } from "../core/tool.ts";

/**
 * Open until somebody answers or nobody does; a yes is used once. What was asked about may change meanwhile: then the
 * question is void, and asked anew.
 */
export type ApprovalState = "open" | "approved" | "declined" | "expired" | "void" | "used";

/** How far a yes reaches: this call, what a rule covers in this session, what it covers from now on. */
export type ApprovalScope = "once" | "session" | "always";

/** Everything that an answer is for. Where any of it differs, the answer does not count. Hashes, but for the folder. */
export interface ApprovalBinding {
  tool: string;
  input: string;
  preview: string;
  cwd: string;
  environment: string;
  caller: string;
  paths: string;
  mode: string;
  policy: string;
}

/** A call as it was made, as data: enough to make it again in another process. */
export interface MadeCall {
  name: string;
  /** What was sent, where a hook made the approval's input of it. */
  input?: unknown;
  options: Omit<CallOptions, "signal" | "onUpdate" | "onApprovalRequested" | "taskId" | "userId">;
  /** The names that its toolkit had, where it was made in one. */
  scope?: readonly string[];
  /** Whether the tool itself was called, and not a name. */
  isDirect: boolean;
}

/** A question to a person, bound to exactly one call. Plain data. */
export interface Approval {
  id: string;
  callId: string;
  /** Equal for the same call made again: id, caller, tool, input and what narrows it. */
  callKey: string;
  toolName: string;
  toolVersion: string;
  input: unknown;
  caller: Caller;
  /** Why it asks, in one sentence. */
  reason: string;
  /** What decided that it asks. */
  verdict: Verdict;
  preview?: Preview;
  /** Rules that "for this session" and "always" would save; none where only "once" is offered. */
  suggestedRules: readonly string[];
  binding: ApprovalBinding;
  /** Of the binding: says in one word what would run. */
  hash: string;
  made: MadeCall;
  /** Whether the caller waits for the answer, and will run the call itself. */
  waits: boolean;
  askedAt: number;
  expiresAt: number;
  state: ApprovalState;
  answeredBy?: string;
  /** The door that the answer came through. */
  answeredVia?: string;
  answeredAt?: number;
  /** Why it was declined, expired or became void: told to the model. */
  note?: string;
  /** What was granted besides this call. */
  scope?: ApprovalScope;
  rules?: readonly string[];
  /** Whether there is a rule among them that was not suggested, and may allow more than was shown. */
  rulesEdited?: boolean;
  usedAt?: number;
}

export interface ApprovalAnswer {
  approved: boolean;
  by?: string;
  reason?: string;
  scope?: ApprovalScope;
  /** Instead of the suggested ones. */
  rule?: string | readonly string[];
  /** The door that it came through. */
  via?: string;
  /** What whoever answers may do, where the door knows: without "approve" the answer is refused. */
  rights?: readonly string[];
}

/** The ones that still decide about their call; the others are history. */
export const CURRENT_STATES: readonly ApprovalState[] = ["open", "approved", "declined"];
