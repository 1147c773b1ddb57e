import { errorMessage } from "../../core/error.ts";
import { type Call, note, toolOf, type Verdict } from "../../core/call.ts";
import { reasonText } from "../../core/localized-text.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise, Stage } from "../../core/stage.ts";
import type { AnyTool, TaintLabel } from "../../core/tool.ts";
import { familyOf } from "./policy-layers.ts";
import { appliesTo } from "./tool-policy.ts";

/** Max calls kept per label and session: enough for an explanation, and a session may be endless. */
const MAX_MARKS = 5;

/** What a verdict depends on: a call, or one that is only explained. */
export type SupposedCall = Pick<Call, "tool" | "input" | "caller" | "parent" | "facts">;

export interface TaintOptions {
  store?: TaintStore;
  /** Labels in addition to the tools' own. */
  labels?: UserLabels;
  now(): number;
}

export interface Taint {
  /** Notes the labels that results bring into sessions. Before `known`: a replayed result also enters this one. */
  readonly stage: Stage;
  /** Whether calls of this tool can have a label. */
  canLabel(tool: AnyTool): boolean;
  /** An ask verdict, if this call could send out sensitive data of a session that has read untrusted text. */
  verdictOf(call: SupposedCall): MaybePromise<Verdict | undefined>;
  /** Whether the session of this call, or one of its parents, has read untrusted text before. True if that cannot be read. */
  hasReadUntrusted(call: Call): MaybePromise<boolean>;
  /** Labels a result that was answered from its row. If the tool is gone, nobody knows what it brings. */
  replayed(call: Call, result: ToolResult): MaybePromise<ToolResult>;
  /** Copies the labels of one session to another: to a child at its start, to a parent when it gets the answer. */
  share(from: string, to: string): Promise<void>;
}

/**
 * The rule of two: a session that has read untrusted text and sensitive data asks before it acts on the outside.
 * "Read" means that a result was returned. Subagents and their parents are treated as one:
 * each label is kept in the sessions of the caller and of all its parents, and each verdict uses all of them.
 * Calls without a session are unrelated, so nothing is kept from one to the next: shared labels would make
 * every later call ask. Such a call and its nested calls are one session.
 */
export function createTaint({ store = new MemoryTaintStore(), labels: given = {}, now }: TaintOptions): Taint {
  /** Labels of calls without a session, by the outermost call. */
  const withoutSession = new WeakMap<object, TaintMark[]>();
  /** Labels that could not be stored: at least this process knows them. */
  const unsaved = new MemoryTaintStore();

  const stage: Stage = {
    name: "taint",
    compile(tool) {
      return canLabel(tool) ? { leave: this.leave } : {};
    },
    leave(call, result) {
      return canLabel(toolOf(call)) ? label(call, result, () => labelsOfCall(call, given, result)) : result;
    },
  };

  function label(call: Call, result: ToolResult, labels: () => readonly string[]): MaybePromise<ToolResult> {
    if (!hasEntered(call, result)) return result;
    const found = labels();
    const brought = BROUGHT.filter((each) => found.includes(each));
    return brought.length === 0 ? result : remember(call, result, brought);
  }

  return {
    stage,
    canLabel,
    verdictOf(call) {
      if (!canLabel(toolOf(call))) return undefined;
      const labels = labelsOfCall(call, given);
      if (!labels.includes("outside_effect")) return undefined;
      const judge = (marks: readonly TaintMark[]): Verdict | undefined =>
        judged(call, marks, labels.includes("sensitive_data"));
      try {
        const marks = marksOf(call);
        return marks instanceof Promise ? marks.then(judge, (why) => unreadable(call, why)) : judge(marks);
      } catch (why) {
        return unreadable(call, why);
      }
    },
    hasReadUntrusted(call) {
      const isUntrusted = (marks: readonly TaintMark[]): boolean =>
        marks.some(({ label }) => label === "untrusted_input");
      try {
        const marks = marksOf(call);
        return marks instanceof Promise ? marks.then(isUntrusted, () => true) : isUntrusted(marks);
      } catch {
        return true;
      }
    },
    replayed: (call, result) =>
      call.tool && stage.leave ? stage.leave(call, result) : label(call, result, () => BROUGHT),
    async share(from, to) {
      await store.add(to, await store.marks(from), MAX_MARKS);
    },
  };

  function canLabel(tool: AnyTool): boolean {
    return (
      tool.labels.length > 0 ||
      tool.labelsOf !== undefined ||
      tool.origin.type === "mcp" ||
      Object.keys(given).some((entry) => appliesTo(entry, tool))
    );
  }

  function remember(call: Call, result: ToolResult, brought: readonly ResultLabel[]): MaybePromise<ToolResult> {
    const at = now();
    const marks = brought.map((label): TaintMark => ({
      label,
      callId: call.id,
      toolName: call.tool?.name ?? call.requestedName,
      at,
    }));
    const sessions = sessionsOf(call);
    if (sessions.length === 0) {
      const outermost = outermostOf(call);
      withoutSession.set(outermost, [...(withoutSession.get(outermost) ?? []), ...marks]);
      return result;
    }
    const failed = (why: unknown): ToolResult => {
      for (const session of sessions) unsaved.add(session, marks, MAX_MARKS);
      const message = errorMessage(why);
      return { ...result, metadata: { ...result.metadata, taintUnsaved: message } };
    };
    try {
      const added = sessions
        .map((session) => store.add(session, marks, MAX_MARKS))
        .filter((one) => one instanceof Promise);
      return added.length === 0 ? result : Promise.all(added).then(() => result, failed);
    } catch (why) {
      return failed(why);
    }
  }

  function marksOf(call: SupposedCall): MaybePromise<readonly TaintMark[]> {
    const sessions = sessionsOf(call);
    if (sessions.length === 0) return withoutSession.get(outermostOf(call)) ?? [];
    const found = sessions.map((session) => store.marks(session));
    const all = (stored: readonly (readonly TaintMark[])[]): readonly TaintMark[] => [
      ...stored.flat(),
      ...sessions.flatMap((session) => unsaved.marks(session)),
    ];
    const isReady = (one: MaybePromise<readonly TaintMark[]>): one is readonly TaintMark[] => !(one instanceof Promise);
    return found.every(isReady) ? all(found) : Promise.all(found.map(async (marks) => marks)).then(all);
  }
}

/** The labels that a result brings to its session. */
const BROUGHT = ["untrusted_input", "sensitive_data"] as const;

/** A pending result, or a refusal before the tool ran, brings no labels. */
export function hasEntered(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  return result.status === "completed" || call.began || result.metadata.known !== undefined;
}

function sessionsOf({ caller }: SupposedCall): string[] {
  return [...new Set(familyOf(caller).flatMap(({ session }) => (session === undefined ? [] : [session])))];
}

function outermostOf(call: SupposedCall): SupposedCall {
  let outermost = call;
  while (outermost.parent) outermost = outermost.parent;
  return outermost;
}

/** Sensitive data that the call itself reads counts; untrusted text in its own answer comes too late to influence it. */
function judged(call: SupposedCall, marks: readonly TaintMark[], isSensitive: boolean): Verdict | undefined {
  const untrusted = marks.filter(({ label }) => label === "untrusted_input");
  const sensitive = marks.filter(({ label }) => label === "sensitive_data");
  if (untrusted.length === 0 || (sensitive.length === 0 && !isSensitive)) return undefined;
  const { name } = toolOf(call);
  note(call, "taint", { untrusted_input: untrusted.map(idOf), sensitive_data: sensitive.map(idOf) });
  return {
    decision: "ask",
    by: "provenance",
    ...(sensitive.length > 0
      ? reasonText("verdict.taint", { tool: name, untrusted: namesOf(untrusted), sensitive: namesOf(sensitive) })
      : reasonText("verdict.taintHere", { tool: name, untrusted: namesOf(untrusted) })),
    rule: "untrusted_input + sensitive_data + outside_effect",
  };
}

function namesOf(marks: readonly TaintMark[]): string {
  return marks.map(({ toolName, callId }) => `${toolName}, call ${callId}`).join("; ");
}

function idOf({ callId }: TaintMark): string {
  return callId;
}

/** If the labels cannot be read, ask. */
function unreadable(call: SupposedCall, why: unknown): Verdict {
  const message = errorMessage(why);
  return {
    decision: "ask",
    by: "provenance",
    ...reasonText("verdict.taintUnknown", { tool: toolOf(call).name, problem: message }),
  };
}

/** The user's labels, by name, group or `*` pattern, in addition to the tools' own. */
type UserLabels = Readonly<Record<string, readonly TaintLabel[]>>;

/** The labels of a call: from the tool, from the user, and defaults. Every call asks twice, and most have none. */
export function labelsOfCall(call: SupposedCall, given: UserLabels = {}, result?: ToolResult): readonly TaintLabel[] {
  const tool = toolOf(call);
  let labels = declared(tool, call.input, result);
  if (tool.labels.length === 0 && tool.origin.type === "mcp") labels = [...labels, ...assumed(tool)];
  for (const entry of Object.keys(given)) {
    if (appliesTo(entry, tool)) labels = [...labels, ...(given[entry] ?? [])];
  }
  return labels;
}

function declared(tool: AnyTool, input: unknown, result?: ToolResult): readonly TaintLabel[] {
  if (!tool.labelsOf) return tool.labels;
  try {
    return tool.labelsOf(input, result);
  } catch {
    // The tool's function failed: assume every label.
    return tool.labels;
  }
}

/** Default for a server without annotations: untrusted answers and effects on the outside. */
function assumed({ isReadOnly }: AnyTool): readonly TaintLabel[] {
  return isReadOnly ? ["untrusted_input"] : ["untrusted_input", "outside_effect"];
}

/** The labels that a result may bring into a session. The third label, an effect on the outside, belongs to a call. */
type ResultLabel = "untrusted_input" | "sensitive_data";

/** The call that brought it. */
export interface TaintMark {
  label: ResultLabel;
  callId: string;
  toolName: string;
  at: number;
}

/** The labels of sessions. They never expire. */
export interface TaintStore {
  /** Oldest first. */
  marks(session: string): MaybePromise<readonly TaintMark[]>;
  /** Keeps the first `most` of each label; a call's label is kept once. */
  add(session: string, marks: readonly TaintMark[], max: number): MaybePromise<void>;
  /** Removes the labels of a deleted session. */
  forget(session: string): MaybePromise<void>;
}

export class MemoryTaintStore implements TaintStore {
  readonly #sessions = new Map<string, TaintMark[]>();

  marks(session: string): readonly TaintMark[] {
    return [...(this.#sessions.get(session) ?? [])];
  }

  add(session: string, marks: readonly TaintMark[], max: number): void {
    const kept = this.#sessions.get(session) ?? [];
    for (const mark of marks) {
      const ofLabel = kept.filter(({ label }) => label === mark.label);
      if (ofLabel.length < max && !ofLabel.some(({ callId }) => callId === mark.callId)) kept.push({ ...mark });
    }
    this.#sessions.set(session, kept);
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }
}
