import { sha256 } from "../../../calls/approval-binding.ts";
import type { Verdict } from "../../../core/call.ts";
import { validatedInput } from "../../../core/create-tool.ts";
import { definitionHash } from "../../../core/definition.ts";
import { errorMessage } from "../../../core/error.ts";
import { canonicalJson } from "../../../core/json.ts";
import { hideAnswers, type ToolResult } from "../../../core/result.ts";
import { redactSecrets } from "../../../core/secrets/mask-secrets.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { type BacktestOptions, judgeTwice } from "./backtest.ts";
import type { CallDigest, Unjudged } from "./call-digest.ts";

/** How a call ended, in short: the record keeps no more of it. */
interface FixtureResult {
  status: "completed" | "failed" | "pending";
  errorCode?: string;
  /** What a person was shown, masked, up to 500 characters. */
  text?: string;
  /** The length of what the model was given. */
  length?: number;
}

/** A call of a session, as the record keeps it. */
export interface FixtureCall {
  callId: string;
  at: number;
  tool: string;
  /** Masked, and long texts cut. */
  input: unknown;
  /** Nothing of the input is masked or cut, so that it can be checked and run. */
  isWhole: boolean;
  /** What the policy said. */
  verdict: Pick<Verdict, "decision" | "by">;
  digest?: CallDigest;
  /** Missing if it is not known. */
  result?: FixtureResult;
}

/** The calls of a real session, for tests. Plain JSON. */
export interface Fixture {
  format: "haft-fixture";
  version: 1;
  session: string;
  tools: Record<string, { version?: string; definition?: string }>;
  calls: FixtureCall[];
}

/** An entry of the audit log, as the API gives it. */
interface LoggedEntry {
  type: string;
  callId: string;
  toolName: string;
  at: number;
  status?: FixtureResult["status"] | undefined;
  errorCode?: string | undefined;
  verdict?: Verdict | undefined;
  input?: unknown;
  result?: unknown;
}

const MAX_FIXTURE_CHARACTERS = 64 * 1024 * 1024;
const MAX_TEXT = 500;

/** Oldest entry first. An id may be used again: a call ends with its last entry. */
export function fixtureOf(session: string, entries: readonly LoggedEntry[]): Fixture {
  const tools = new Map<string, Fixture["tools"][string]>();
  const calls: FixtureCall[] = [];
  const open = new Map<string, FixtureCall>();
  for (const { type, callId, toolName, at, status, errorCode, verdict, input, result } of entries) {
    if (!type.startsWith("call_") || type === "call_known") continue;
    const { digest: kept, toolVersion, definition, summary, contentBytes } = Object(result) as Record<string, unknown>;
    const key = `${callId}\0${toolName}`;
    let call = open.get(key);
    const isSame = call !== undefined && (input === undefined || canonicalJson(call.input) === canonicalJson(input));
    if (!isSame && input === undefined) continue;
    if (!call || !isSame) {
      const digest = isObject(kept) ? (kept as unknown as CallDigest) : undefined;
      // Another policy said it, for nobody's test.
      const { shadow: _, ...ofCall } = digest ?? { input: {} };
      const isWhole = digest !== undefined && !isCut(input, digest);
      const said = digest?.said ?? { decision: verdict?.decision ?? "ask", by: verdict?.by ?? "policy" };
      call = { callId, at, tool: toolName, input, isWhole, verdict: { decision: said.decision, by: said.by } };
      if (digest) call.digest = ofCall;
      calls.push(call);
      open.set(key, call);
      if (typeof definition === "string") tools.set(toolName, { version: textOf(toolVersion), definition });
    }
    if (type === "call_begun" || status === undefined) continue;
    call.result = { status, errorCode, text: textOf(summary), length: numberOf(contentBytes) };
    if (status !== "pending") open.delete(key);
  }
  return { format: "haft-fixture", version: 1, session, tools: Object.fromEntries(tools), calls };
}

/** The marks of what the record leaves out. A text that only looks like one makes the call count as not whole. */
const CUT = /\[(?:hidden|\d+ more|left out|list left out|object left out)|… \[\d+ more characters\]/;

function isCut(input: unknown, { without = {}, unjudged }: CallDigest): boolean {
  if (unjudged === "secret" || Object.values(without).includes("secret")) return true;
  return CUT.test(JSON.stringify(input) ?? "");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Throws an error that says what is wrong with the file. */
export function parseFixture(text: string, file: string): Fixture {
  if (text.length > MAX_FIXTURE_CHARACTERS) throw bad(file, "it has more than 64 MB");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw bad(file, `it is not JSON (${errorMessage(cause)})`);
  }
  if (!isObject(value) || value["format"] !== "haft-fixture") throw bad(file, 'it has no `"format": "haft-fixture"`');
  const { version, session, tools, calls } = value;
  if (version !== 1) throw bad(file, `it has version ${JSON.stringify(version)}, and this Haft reads version 1`);
  if (typeof session !== "string" || !isObject(tools)) throw bad(file, "`session` or `tools` is missing");
  if (!Object.values(tools).every(isObject)) throw bad(file, "`tools` has an entry that is not an object");
  if (!Array.isArray(calls) || calls.length === 0) throw bad(file, "it has no calls");
  for (const [at, call] of calls.entries()) {
    const wrong = problemOf(call);
    if (wrong !== undefined) throw bad(file, `\`calls[${at}]${wrong}`);
  }
  return value as unknown as Fixture;
}

const DECISIONS: readonly unknown[] = ["allow", "ask", "deny"];

function problemOf(call: unknown): string | undefined {
  if (!isObject(call)) return "` is not an object";
  for (const name of ["callId", "tool"]) if (typeof call[name] !== "string") return `.${name}\` is not a text`;
  if (!Object.hasOwn(call, "input")) return ".input` is missing";
  if (typeof call["isWhole"] !== "boolean") return ".isWhole` is not true or false";
  const { verdict, digest, result } = call;
  if (!isObject(verdict) || !DECISIONS.includes(verdict["decision"]))
    return ".verdict.decision` is not allow, ask or deny";
  if (digest !== undefined && (!isObject(digest) || !isObject(digest["input"])))
    return ".digest.input` is not an object";
  if (result !== undefined && (!isObject(result) || typeof result["status"] !== "string"))
    return ".result.status` is not a text";
  return undefined;
}

function bad(file: string, why: string): Error {
  return new Error(`${file} is not a fixture: ${why}. Write one: haft record export SESSION`);
}

/** A call to judge: of a fixture, or of another program. */
export interface GivenCall {
  tool: string;
  input: unknown;
  isWhole: boolean;
  digest?: CallDigest | undefined;
}

/** What two policies say about a call. */
export interface JudgedFixtureCall {
  before?: Verdict;
  after?: Verdict;
  unjudged?: Unjudged;
  /** Why the tool's schema does not accept the input any more. */
  invalid?: string;
  /** The hash of the tool's definition now. */
  definition?: string;
}

/** Nothing runs. */
export async function judgeFixtureCall(call: GivenCall, options: BacktestOptions): Promise<JudgedFixtureCall> {
  const tool = options.toolOf(call.tool);
  const found = judgeTwice({ toolName: call.tool, digest: call.digest }, options);
  if (!tool) return { unjudged: "no_tool" };
  const definition = definitionHash(tool, sha256);
  const invalid = call.isWhole
    ? await validatedInput(tool, call.input).then(
        () => undefined,
        (error: unknown) => errorMessage(error),
      )
    : undefined;
  return typeof found === "string"
    ? { unjudged: found, invalid, definition }
    : { before: found.before, after: found.after, invalid, definition };
}

/** `history`: the call does not run, and its recorded result stands. `error`: no call of the tool may be in the session. */
export type ReplayMode = "history" | "run" | "error";

export interface ReplayFixtureOptions {
  modeOf(tool: string): ReplayMode;
  judge(calls: readonly FixtureCall[]): Promise<readonly JudgedFixtureCall[]>;
  /** Through the gate, in the mode dontAsk: nobody is asked for a test. */
  run(call: FixtureCall): Promise<ToolResult>;
}

export interface FixtureDifference {
  callId: string;
  tool: string;
  what: "tool" | "verdict" | "input" | "result";
  /** What differs, in a sentence. */
  text: string;
}

/** What a replay of a session found. */
export interface FixtureReport {
  calls: number;
  /** Calls whose verdict was compared. */
  judged: number;
  /** Calls that ran, and whose result was compared. */
  ran: number;
  differences: FixtureDifference[];
  /** What could not be compared, by the reason: how many calls. */
  unchecked: Record<string, number>;
  /** Tools with another definition than in the session. */
  changedTools: string[];
}

const PAGE = 500;
const WHY_UNCHECKED: Readonly<Record<Unjudged, string>> = {
  no_digest: "the record kept too little to judge the call",
  no_tool: "there is no such tool",
  secret: "a rule compares a value that was hidden",
  too_long: "a rule compares a value that was too long to keep",
  asynchronous: "the tool is in another process, which must be asked about each call",
  failed: "the tool could not say what the call does",
};

/** Compares a session with another policy, or with other versions of tools. In the order of the session. */
export async function replayCalls(
  { calls, tools }: Fixture,
  { modeOf, judge, run }: ReplayFixtureOptions,
): Promise<FixtureReport> {
  const report: FixtureReport = { calls: 0, judged: 0, ran: 0, differences: [], unchecked: {}, changedTools: [] };
  const changed = new Set<string>();
  for (let from = 0; from < calls.length; from += PAGE) {
    const page = calls.slice(from, from + PAGE);
    const judged = await judge(page);
    for (const [at, call] of page.entries()) {
      report.calls++;
      const { before, after, unjudged, invalid, definition } = judged[at] ?? {};
      const { callId, tool, verdict } = call;
      const mode = modeOf(tool);
      const differs = (what: FixtureDifference["what"], text: string): void =>
        void report.differences.push({ callId, tool, what, text });
      const leaveOut = (why: string): void => void (report.unchecked[why] = (report.unchecked[why] ?? 0) + 1);
      const recorded = Object.hasOwn(tools, tool) ? tools[tool]?.definition : undefined;
      if (definition !== undefined && recorded !== undefined && recorded !== definition) changed.add(tool);
      if (mode === "error") {
        differs("tool", "no call of this tool may be in the session");
        continue;
      }
      if (unjudged === "no_tool") differs("tool", WHY_UNCHECKED.no_tool);
      else if (after === undefined) leaveOut(WHY_UNCHECKED[unjudged ?? "failed"]);
      else if (verdict.by === "grant") leaveOut("a grant allowed it, which is no rule");
      else {
        report.judged++;
        if (after.decision !== verdict.decision)
          differs("verdict", `${verdict.decision} becomes ${after.decision}: ${after.reason}`);
      }
      if (invalid !== undefined) differs("input", invalid);
      if (mode !== "run" || unjudged === "no_tool" || invalid !== undefined) continue;
      if (!call.isWhole) leaveOut("it did not run: a part of its input was hidden or cut");
      else if (call.result === undefined || call.result.status === "pending")
        leaveOut("it did not run: the session has no result of it");
      // What asks, or is denied, does not run for a test either. The input is judged itself: who wrote the file wrote the digest.
      else if (before?.decision !== "allow" || after?.decision !== "allow" || !(await isAllowed(call, judge)))
        leaveOut("it did not run: the policy does not allow it without a question");
      else {
        const text = differenceOf(call.result, await run(call));
        report.ran++;
        if (text !== undefined) differs("result", text);
      }
    }
  }
  report.changedTools = [...changed];
  return report;
}

async function isAllowed(call: FixtureCall, judge: ReplayFixtureOptions["judge"]): Promise<boolean> {
  if (!isObject(call.input)) return false;
  const [judged] = await judge([{ ...call, digest: { input: call.input } }]);
  return judged?.before?.decision === "allow" && judged.after?.decision === "allow";
}

function differenceOf(then: FixtureResult, result: ToolResult): string | undefined {
  const now: FixtureResult = {
    status: result.status,
    errorCode: result.status === "failed" ? result.error.code : undefined,
    text: textOf(redactSecrets(hideAnswers(result).display, { maxTextLength: MAX_TEXT })),
    length: result.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0),
  };
  for (const name of ["status", "errorCode", "text", "length"] as const) {
    if (then[name] === now[name] || (name !== "errorCode" && then[name] === undefined)) continue;
    return `${name}: ${brief(then[name])} becomes ${brief(now[name])}`;
  }
  return undefined;
}

function brief(value: string | number | undefined): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
