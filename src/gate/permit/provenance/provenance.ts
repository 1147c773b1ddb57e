import { BoundedMap } from "../../../core/bounded-map.ts";
import {
  type Call,
  type Caller,
  type EarlierCalls,
  note,
  toolOf,
  type UnvouchedValue,
  type Verdict,
} from "../../../core/call.ts";
import { textOf } from "../../../core/content.ts";
import { errorMessage } from "../../../core/error.ts";
import { reasonText } from "../../../core/localized-text.ts";
import type { ProvenanceMode } from "../../../core/call-summary.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { MaybePromise, Stage } from "../../../core/stage.ts";
import type { AnyTool, TaintLabel } from "../../../core/tool.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { familyOf } from "../policy-layers.ts";
import {
  createTaint,
  hasEntered,
  labelsOfCall,
  MemoryTaintStore,
  type SupposedCall,
  type Taint,
  type TaintStore,
} from "../taint.ts";
import { hasParameter, hasWildcard, parseParameterPattern } from "../rules/rule-patterns.ts";
import { parseRule } from "../rules/rule.ts";
import { appliesTo } from "../tool-policy.ts";
import { type RoleCorrections, rolesOf } from "./roles.ts";
import type { JudgedTool, ProvenanceEntry, SessionState, Unvouched } from "./session-state.ts";
import { plainForm } from "./text-forms.ts";

/** What a user says about tools, in addition to the tools' own labels. */
export interface ToolLabels extends RoleCorrections {
  labels?: readonly TaintLabel[];
}

/** How strictly calls are judged by who chose their values. */
export interface ProvenanceSettings {
  /** Default: "ask". */
  mode?: ProvenanceMode;
  /** By name, group or `*` pattern. */
  tools?: Readonly<Record<string, ToolLabels>>;
}

/** The settings, and where the state of sessions is kept. */
export interface ProvenanceOptions extends ProvenanceSettings {
  /** Who said what, by session. Default: in memory. */
  store?: ProvenanceStore;
  /** Which labelled content sessions have seen. Default: in memory. */
  taintStore?: TaintStore;
  /** The results that the conversation of a session has kept: for the words around a value, after a restart. */
  readResults?: (session: string) => MaybePromise<readonly ToolResult[]>;
}

/** What sessions have learned. An entry has the number of its place, from 1, without gaps. */
export interface ProvenanceStore {
  /** The first entry, and those behind a number, in order. */
  after(session: string, seq: number): MaybePromise<readonly string[]>;
  /** False if the number is taken. */
  add(session: string, seq: number, entry: string): MaybePromise<boolean>;
  /** Removes the entries of a deleted session. */
  forget(session: string): MaybePromise<void>;
}

interface ProvenanceParts {
  now(): number;
  /** The recorded result of an earlier call. */
  readResult?(callId: string, caller: Readonly<Partial<Caller>>): Promise<ToolResult | undefined>;
}

/** Where the values of a session's calls come from: who said them, and what the session has read. */
export interface Provenance {
  /** Which labelled content sessions have seen. */
  readonly taint: Taint;
  /** Reads the user's messages that come with a call, and the results. */
  readonly stage: Stage;
  /** Whether a call of this tool, by this caller, may ask because of a value. */
  mayJudge(tool: AnyTool, caller: Readonly<Partial<Caller>>): boolean;
  /** An ask verdict, if nobody vouches for a value, or if the labels of the session ask. `trial`: as if this were the mode. */
  verdictOf(call: SupposedCall, byRules?: Verdict, trial?: ProvenanceMode): MaybePromise<Verdict | undefined>;
  /** Remembers what the user wrote. What is quoted is text of others. Resolves when other processes know it. */
  addUserMessage(caller: Readonly<Partial<Caller>>, text: string, options?: { quoted?: boolean }): Promise<void>;
  /** What the program's author wrote to the model: it vouches for values, but names no records. */
  addSystemText(caller: Readonly<Partial<Caller>>, text: string): Promise<void>;
  /** Whether anything that the user wrote is known of this session. */
  knowsUser(caller: Readonly<Partial<Caller>>): MaybePromise<boolean>;
  /** Whether the session of this call has read untrusted text. True if there is no session, or if that cannot be read. */
  hasReadUntrusted(call: Call): MaybePromise<boolean>;
  /** A session that reads from another one has read what that one has. */
  share(from: string, to: string): Promise<void>;
  /** The roles of a tool's arguments and fields, with the user's corrections. */
  rolesOf(tool: AnyTool): ReturnType<typeof rolesOf>;
  /** The active settings. */
  readonly settings: Required<ProvenanceSettings>;
  /** Other settings, from the next call on. */
  configure(settings: ProvenanceSettings): void;
}

const OPENS_PAGES: ReadonlySet<string> = new Set(["browser", "canvas"]);
const MAX_ENTRIES = 5000;
const MAX_SESSIONS = 200;
const MAX_TRIES = 50;
/** Longer, and other work of this process gets its turn. */
const MAX_SLICE_MS = 2;
/** Results of this process that are kept for the card, and how long each may be. */
const MAX_RECENT = 100;
const MAX_RECENT_LENGTH = 200_000;
const MAX_SHOWN = 10;
const MAX_SHOWN_VALUE = 500;
const AROUND = 60;

let sessionStates: typeof import("./session-state.ts") | undefined;

interface Opened {
  state: SessionState;
  seq: number;
  /** The first entry, with the session's key. */
  first: string;
}

export function createProvenance(options: ProvenanceOptions, { now, readResult }: ProvenanceParts): Provenance {
  const { store = new MemoryProvenanceStore(), taintStore = new MemoryTaintStore(), readResults } = options;
  const settings: Required<ProvenanceSettings> = { mode: "ask", tools: {} };
  const labels: Record<string, readonly TaintLabel[]> = {};
  let judgedTools = new WeakMap<AnyTool, JudgedTool>();
  configure(options);
  const taint = createTaint({ store: taintStore, labels, now });
  const opened = new BoundedMap<string, Opened>(MAX_SESSIONS);
  /** Sessions that have read something that could not be stored: at least this process knows it. */
  const unsaved = new Set<string>();
  /** Sessions whose conversation came with a call, and those of one step among them. */
  const restored = new BoundedMap<string, Promise<void>>(MAX_SESSIONS * 2);
  const ownSessions: string[] = [];
  /** Lists of messages that are stored. */
  const heard = new WeakMap<readonly string[], string>();
  /** For the card: the record of a call that only reads has no content. */
  const recent = new BoundedMap<string, readonly unknown[]>(MAX_RECENT);
  /** The last message, for the card. */
  const lastTexts = new BoundedMap<string, string>(MAX_SESSIONS);

  return {
    taint,
    stage: {
      name: "provenance",
      compile: (tool) => taint.stage.compile?.(tool),
      enter,
      leave(call, result) {
        const labelled = taint.stage.leave?.(call, result) ?? result;
        return labelled instanceof Promise ? labelled.then((one) => learn(call, one)) : learn(call, labelled);
      },
    },
    mayJudge: (tool, caller) => settings.mode !== "off" && sessionOf(caller) !== undefined && hasEffect(tool),
    verdictOf,
    async addUserMessage(caller, text, { quoted = false } = {}) {
      const session = requireSession(caller);
      if (!quoted) {
        await append(session, (state) => state.messageEntry(text));
        lastTexts.set(session, text.slice(0, MAX_SHOWN_VALUE));
        return;
      }
      const quotation = { type: "result", callId: "", toolName: "quotation", isText: true } as const;
      await append(session, () => quotation);
    },
    async addSystemText(caller, text) {
      await append(requireSession(caller), (state) => state.messageEntry(text, { isSystem: true }));
    },
    knowsUser(caller) {
      const session = sessionOf(caller);
      if (session === undefined) return false;
      return then(load(session), (loaded) => loaded?.state.hasUserText ?? false);
    },
    async hasReadUntrusted(call) {
      const session = sessionOf(call.caller);
      if (session === undefined || unsaved.has(session) || (await taint.hasReadUntrusted(call))) return true;
      try {
        const loaded = await load(session);
        return loaded !== undefined && (loaded.state.hasText || loaded.seq >= MAX_ENTRIES);
      } catch {
        return true;
      }
    },
    async share(from, to) {
      await taint.share(from, to);
      const loaded = await load(from);
      if (loaded?.state.hasText)
        await append(to, () => ({ type: "result", callId: "", toolName: `session ${from}`, isText: true }));
    },
    rolesOf: (tool) => judgedTool(tool).roles,
    settings,
    configure,
  };

  function configure({ mode = "ask", tools = {} }: ProvenanceSettings): void {
    Object.assign(settings, { mode, tools });
    for (const entry of Object.keys(labels)) delete labels[entry];
    for (const [entry, each] of Object.entries(tools)) if (each.labels) labels[entry] = each.labels;
    judgedTools = new WeakMap();
  }

  function judgedTool(tool: AnyTool): JudgedTool {
    let judged = judgedTools.get(tool);
    if (!judged) {
      const corrections = Object.entries(settings.tools).flatMap(([entry, each]) =>
        appliesTo(entry, tool) ? [each] : [],
      );
      const isBuiltIn = tool.origin.type === "builtin";
      judged = {
        name: tool.name,
        isReadOnly: tool.isReadOnly,
        reachesOut:
          tool.labels.includes("outside_effect") || corrections.some((each) => each.labels?.includes("outside_effect")),
        isConfined: isBuiltIn && tool.kind === "execute" && !tool.isDelegated,
        opensPages: isBuiltIn && OPENS_PAGES.has(tool.name),
        isBuiltIn,
        roles: rolesOf(tool, corrections),
      };
      judgedTools.set(tool, judged);
    }
    return judged;
  }

  function hasEffect(tool: AnyTool): boolean {
    return !tool.isReadOnly || judgedTool(tool).reachesOut;
  }

  function enter(call: Call): MaybePromise<void> {
    const heardNow = hear(call);
    const session = sessionOf(call.caller);
    if (!call.earlier || session === undefined || call.caller.parent) return heardNow;
    // Others of the session wait, too: they would be judged without it.
    let done = restored.get(session);
    if (!done) restored.set(session, (done = restore(session, call, call.earlier, heardNow)));
    return done.then(() => heardNow);
  }

  /** Learns what the conversation has read, if nothing of it is known: the process started again, or nobody named the session. */
  async function restore(
    session: string,
    { caller }: Call,
    { read, isOwnSession }: EarlierCalls,
    heardNow: MaybePromise<void>,
  ): Promise<void> {
    if (isOwnSession && ownSessions.push(session) > MAX_SESSIONS) {
      const [oldest = ""] = ownSessions.splice(0, 1);
      restored.delete(oldest);
      void Promise.all([store.forget(oldest), taintStore.forget(oldest)]).catch(nothing);
    }
    try {
      await heardNow;
      if ((await load(session))?.state.hasResults) return;
      for (const { tool, input, ...result } of read()) {
        const call = { id: result.callId, requestedName: tool.name, tool, input, caller, began: true };
        const base = { ...result, toolName: tool.name, display: "", metadata: {}, startedAt: now() };
        const completed: ToolResult = { ...base, status: "completed", success: true };
        await learn(
          call as Partial<Call> as Call,
          (await taint.stage.leave?.(call as Partial<Call> as Call, completed)) ?? completed,
        );
      }
    } catch {
      // Text of others may have been among it.
      unsaved.add(session);
    }
  }

  function hear(call: Call): MaybePromise<void> {
    const { userMessage } = call.options;
    const session = sessionOf(call.caller);
    // What is given to a subagent is the text of a model.
    if (userMessage === undefined || session === undefined || settings.mode === "off" || call.caller.parent) return;
    // A run gives all of its calls the same list.
    if (typeof userMessage === "object") {
      if (heard.get(userMessage) === session) return;
      heard.set(userMessage, session);
    }
    const texts = [userMessage].flat();
    lastTexts.set(session, (texts.at(-1) ?? "").slice(0, MAX_SHOWN_VALUE));
    let done: MaybePromise<unknown> = undefined;
    for (const text of texts) done = then(done, () => append(session, (state) => state.messageEntry(text)));
    // A message that could not be stored vouches for nothing.
    return done instanceof Promise ? done.then(nothing, nothing) : undefined;
  }

  function learn(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const session = sessionOf(call.caller);
    if (session === undefined || settings.mode === "off" || !call.tool || !hasEntered(call, result)) return result;
    const tool = judgedTool(call.tool);
    const found = labelsOfCall(call, labels, result);
    const isText = found.includes("untrusted_input");
    const approved = call.verdict?.by === "approval" ? call.verdict.unvouched : undefined;
    // What a person answered to the questions of a call is what the user wrote.
    const answers = (call.asked?.answers ?? []).flatMap(({ choices = [], text = [] }) => [choices, text].flat());
    // Most tools say nothing about their results, and change nothing that later calls could name.
    const isSilent = !isText && !approved && answers.length === 0;
    if (isSilent && tool.isBuiltIn && Object.keys(tool.roles.trust).length === 0) return result;
    if (isText) {
      const isLong = textOf(result.content).length > MAX_RECENT_LENGTH;
      recent.set(`${session} ${call.id}`, isLong ? [] : valuesOf(result));
    }
    const read = { callId: call.id, tool, input: call.input, isText, isSensitive: found.includes("sensitive_data") };
    let done: MaybePromise<unknown> = approved && append(session, (state) => state.approvedEntry(approved));
    for (const text of answers) done = then(done, () => append(session, (state) => state.messageEntry(text)));
    done = then(done, () => append(session, (state) => inSlices(state.readResult(read, valuesOf(result)))));
    const failed = (why: unknown): ToolResult => {
      if (isText) unsaved.add(session);
      return { ...result, metadata: { ...result.metadata, taintUnsaved: errorMessage(why) } };
    };
    return done instanceof Promise ? done.then(() => result, failed) : result;
  }

  function verdictOf(call: SupposedCall, byRules?: Verdict, trial?: ProvenanceMode): MaybePromise<Verdict | undefined> {
    const mode = trial ?? settings.mode;
    const byLabels = (): MaybePromise<Verdict | undefined> => taint.verdictOf(call);
    const tool = toolOf(call);
    const session = sessionOf(call.caller);
    if (settings.mode === "off" || mode === "off" || session === undefined || !hasEffect(tool)) return byLabels();
    const named = namedByRules(byRules, tool);
    if (named === "all") return byLabels();
    const judge = (loaded: Opened | undefined): MaybePromise<Verdict | undefined> => {
      const state = loaded?.state;
      const hasText = state?.hasText || unsaved.has(session) || (loaded && loaded.seq >= MAX_ENTRIES);
      // Nothing is known about what the user wants: only the labels count.
      if (!state?.hasUserText || !hasText) return byLabels();
      const known = judgedTool(tool);
      const isRuled = tool.isDelegated && known.isBuiltIn && tool.kind === "execute" && allowsCommand(byRules);
      const judged = state.judge(isRuled ? { ...known, isConfined: true } : known, call.input, mode === "strict");
      judged.unvouched = judged.unvouched.filter(({ argument }) => !named.has(argument));
      if (mode === "note") {
        const wouldAsk = judged.unvouched
          .slice(0, MAX_SHOWN)
          .map(({ argument, authority }) => ({ argument, authority }));
        if (!trial && wouldAsk.length > 0) note(call, "provenance", { wouldAsk });
        return byLabels();
      }
      // Nobody is asked.
      if (trial && judged.unvouched.length > 0) return { decision: "ask", by: "provenance", reason: "" };
      if (judged.unvouched.length > 0) return explained(call, judged.unvouched, state);
      return judged.hasAuthority ? undefined : byLabels();
    };
    const unreadable = (why: unknown): MaybePromise<Verdict | undefined> => {
      const reason = reasonText("verdict.taintUnknown", { tool: tool.name, problem: errorMessage(why) });
      return mode === "note" ? byLabels() : { decision: "ask", by: "provenance", ...reason };
    };
    try {
      const verdict = then(load(session), judge);
      return verdict instanceof Promise ? verdict.catch(unreadable) : verdict;
    } catch (why) {
      return unreadable(why);
    }
  }

  /** The verdict with what a person needs to decide: where each value first appeared, and what the user wrote. */
  async function explained(call: SupposedCall, unvouched: readonly Unvouched[], state: SessionState): Promise<Verdict> {
    const tool = toolOf(call);
    let conversation: Promise<ReadonlyMap<string, ToolResult>> | undefined;
    const texts = await readTexts(state, async (callId) => {
      const kept = recent.get(`${sessionOf(call.caller)} ${callId}`);
      if (kept) return kept;
      const recorded =
        (await (conversation ??= readConversation(call.caller))).get(callId) ??
        (await readResult?.(callId, call.caller));
      return recorded && valuesOf(recorded);
    });
    const values = unvouched.slice(0, MAX_SHOWN).map((each): UnvouchedValue => {
      const { argument, value, authority } = each;
      const source = authority === "call" ? undefined : firstSource(value, texts.found);
      const missing = texts.isWhole ? "nowhere" : "unread";
      const origin = source ? "text" : state.isKnown(each) ? "unnamed" : missing;
      return { argument, value: value.slice(0, MAX_SHOWN_VALUE), authority, origin, source };
    });
    // There are more than a list can show.
    if (unvouched.length > MAX_SHOWN) values.push({ argument: "", value: "", authority: "call", origin: "nowhere" });
    const [first] = values;
    const key =
      first?.authority === "call" || first?.authority === "private" ? first.authority : (first?.origin ?? "nowhere");
    const shown = first?.value ?? "";
    const facts = {
      tool: tool.name,
      argument: first?.argument ?? "",
      value: shown.length > 100 ? `${shown.slice(0, 99).toWellFormed()}…` : shown,
      source: first?.source?.toolName ?? "",
    };
    return {
      decision: "ask",
      by: "provenance",
      ...reasonText(`verdict.unvouched.${key}`, facts),
      unvouched: values,
      userText: lastTexts.get(sessionOf(call.caller) ?? ""),
    };
  }

  async function readConversation(caller: Readonly<Partial<Caller>>): Promise<ReadonlyMap<string, ToolResult>> {
    const sessions = familyOf(caller).flatMap(({ session }) => session ?? []);
    const read = async (session: string): Promise<readonly ToolResult[]> => (await readResults?.(session)) ?? [];
    const found = await Promise.all(sessions.map((session) => read(session).catch(() => [])));
    return new Map(found.flat().map((result) => [result.callId, result]));
  }

  function load(session: string): MaybePromise<Opened | undefined> {
    const known = opened.get(session);
    const from = known?.seq ?? 0;
    return then(store.after(session, from), (rows) => {
      if (rows.length === 0 || sessionStates) return apply(session, rows, { known, from });
      // Not loaded before something is known of a session.
      return import("./session-state.ts").then((loaded) => {
        sessionStates = loaded;
        return apply(session, rows, { known, from });
      });
    });
  }

  function apply(
    session: string,
    rows: readonly string[],
    { known, from }: { known: Opened | undefined; from: number },
  ): MaybePromise<Opened | undefined> {
    let at = opened.get(session);
    // Another call has read further in the meantime.
    if (at !== known || (at && at.seq !== from)) return load(session);
    // The session was deleted; its name may be used again.
    if (at && rows[0] !== at.first) {
      opened.delete(session);
      lastTexts.delete(session);
      return load(session);
    }
    for (const row of at ? rows.slice(1) : rows) {
      const entry = JSON.parse(row) as ProvenanceEntry;
      const key = entry.type === "key" ? entry.key : ([0, 0] as const);
      at ??= sessionStates && { state: new sessionStates.SessionState(key), seq: 0, first: row };
      if (!at) return undefined;
      at.state.apply(entry);
      at.seq++;
    }
    if (at) opened.set(session, at);
    return at;
  }

  /** Adds what is not known yet. Another process may add at the same time. */
  async function append(session: string, make: MakeEntry, tries = 0): Promise<void> {
    const loaded = await load(session);
    if (!loaded) {
      const key = [...crypto.getRandomValues(new Uint32Array(2))];
      await store.add(session, 1, JSON.stringify({ type: "key", key }));
      return append(session, make, tries + 1);
    }
    if (loaded.seq >= MAX_ENTRIES) return;
    const { seq } = loaded;
    const entry = await make(loaded.state);
    const isEmpty = entry?.type === "result" && Object.values(entry).filter((each) => each !== undefined).length === 3;
    if (!entry || isEmpty) return;
    if (await store.add(session, seq + 1, JSON.stringify(entry))) return void (await load(session));
    if (tries > MAX_TRIES) throw new Error("other processes write to the session all the time");
    return append(session, make, tries + 1);
  }
}

type MakeEntry = (state: SessionState) => MaybePromise<ProvenanceEntry | undefined>;

function nothing(): void {}

function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Subagents share the state of the session that started them. */
function sessionOf(caller: Readonly<Partial<Caller>>): string | undefined {
  return familyOf(caller).findLast(({ session }) => session !== undefined)?.session;
}

function requireSession(caller: Readonly<Partial<Caller>>): string {
  const session = sessionOf(caller);
  if (session === undefined)
    throw new TypeError("A message of a user belongs to a session: give its name as `session`.");
  return session;
}

/** Rules of a verdict. A grant names all of its rules, whichever covers the call. */
function rulesIn({ decision, by, rule }: Partial<Verdict> = {}): string[] {
  if (decision !== "allow" || (by !== "rule" && by !== "grant")) return [];
  return rule?.split(/,\s+(?=[^\s(),]+(?:\(|,|$))/) ?? [];
}

/**
 * The arguments whose values a person has named by every rule of the verdict: "all" if they allow exactly this form of the call.
 * `pay(amount<=50)` names no recipient.
 */
function namedByRules(byRules: Verdict | undefined, tool: AnyTool): ReadonlySet<string> | "all" {
  const all = rulesIn(byRules).map((rule) => namedBy(rule, tool));
  if (all.length === 0) return new Set();
  const some = all.filter((each) => each !== "all");
  const [first] = some;
  return first ? new Set([...first].filter((each) => some.every((other) => other.has(each)))) : "all";
}

function namedBy(rule: string, tool: AnyTool): ReadonlySet<string> | "all" {
  try {
    const { spec, conditions } = parseRule(rule);
    if (conditions) {
      const exact = conditions.filter(({ operator, matches }) => operator === "==" && !matches);
      return new Set(exact.flatMap(({ parameter }) => parameter?.join(".") ?? []));
    }
    if (spec === undefined || rule.includes("*") || hasWildcard(spec)) return new Set();
    const { name } = parseParameterPattern(spec) ?? {};
    return name !== undefined && hasParameter(tool, name) ? new Set([tool.parameterAliases.get(name) ?? name]) : "all";
  } catch {
    return new Set();
  }
}

/** A rule that names the program, or a command that changes nothing: for the commands of other agents, rules decide. */
function allowsCommand(byRules: Partial<Verdict> = {}): boolean {
  if (byRules.decision === "allow" && byRules.by === "tool") return true;
  const rules = rulesIn(byRules);
  return rules.length > 0 && rules.every((each) => /^\w+\(\s*[\w./-]/.test(each));
}

/** Other work of the process gets its turn between the slices. */
function inSlices<T>(steps: Generator<void, T>): MaybePromise<T> {
  const end = performance.now() + MAX_SLICE_MS;
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() > end)
      return new Promise<void>((resolve) => setImmediate(resolve)).then(() => inSlices(steps));
  }
}

/** What a model reads of a result: its data, and its text if that is something else. */
function valuesOf({ content, details }: Pick<ToolResult, "content" | "details">): unknown[] {
  const text = textOf(content);
  const trimmed = text.trimStart();
  if (typeof details === "object" && details !== null) return isJson(trimmed) ? [details] : [details, text];
  if (isJson(trimmed)) {
    try {
      return [JSON.parse(text) as unknown];
    } catch {
      // Not JSON, or cut.
    }
  }
  return [text];
}

function isJson(text: string): boolean {
  return text.startsWith("{") || text.startsWith("[");
}

interface ReadText {
  callId: string;
  toolName: string;
  values: readonly unknown[];
}

/** `isWhole`: every text that was read is still there. */
async function readTexts(
  { sources, hasMoreSources }: SessionState,
  read: (callId: string) => Promise<readonly unknown[] | undefined>,
): Promise<{ found: ReadText[]; isWhole: boolean }> {
  const found: ReadText[] = [];
  let isWhole = !hasMoreSources;
  for (const { callId, toolName } of sources) {
    const values = callId === "" ? undefined : await read(callId).catch(() => undefined);
    if (values && values.length > 0) found.push({ callId, toolName, values });
    else isWhole = false;
  }
  return { found, isWhole };
}

/** Where a value first stood in a text of others, with the words around it. */
function firstSource(value: string, texts: readonly ReadText[]): UnvouchedValue["source"] {
  const wanted = plainForm(value);
  if (wanted.length < 2) return undefined;
  for (const { callId, toolName, values } of texts) {
    for (const each of values) {
      const found = findIn(each, wanted, "");
      if (found) return { callId, toolName, ...found };
    }
  }
  return undefined;
}

function findIn(value: unknown, wanted: string, field: string): { field: string; excerpt: string } | undefined {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).slice(0, 1_000_000);
    const at = text.toLowerCase().indexOf(wanted);
    if (at >= 0) return { field, excerpt: around(text, at, wanted.length) };
    const form = plainForm(text);
    const atForm = form.indexOf(wanted);
    return atForm < 0 ? undefined : { field, excerpt: around(form, atForm, wanted.length) };
  }
  const entries = Array.isArray(value)
    ? value.map((one, at): [string, unknown] => [`${field}[${at}]`, one])
    : isObject(value)
      ? Object.entries(value).map(([key, one]): [string, unknown] => [field === "" ? key : `${field}.${key}`, one])
      : [];
  for (const [path, one] of entries) {
    const found = findIn(one, wanted, path);
    if (found) return found;
  }
  return undefined;
}

function around(text: string, at: number, length: number): string {
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + Math.min(length, MAX_SHOWN_VALUE) + AROUND);
  const part = text.slice(from, to).toWellFormed().replace(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${part}${to < text.length ? "…" : ""}`;
}

export class MemoryProvenanceStore implements ProvenanceStore {
  readonly #sessions = new Map<string, string[]>();

  after(session: string, seq: number): readonly string[] {
    const entries = this.#sessions.get(session) ?? [];
    return [...entries.slice(0, 1), ...entries.slice(Math.max(1, seq))];
  }

  add(session: string, seq: number, entry: string): boolean {
    const entries = this.#sessions.get(session) ?? [];
    if (entries.length !== seq - 1) return false;
    entries.push(entry);
    this.#sessions.set(session, entries);
    return true;
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }
}
