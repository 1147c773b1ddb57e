import { dirname } from "node:path";
import type { Call, CallMode, ShadowVerdict, Verdict } from "../../../core/call.ts";
import { hideSecrets } from "../../../core/secrets/mask-secrets.ts";
import type { Effects, Signature } from "../../../core/signature.ts";
import type { AnyTool, ToolPermission } from "../../../core/tool.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { isAnswerPending, readPermission, readSignature, type ToolAnswers } from "../../tool-answers.ts";
import { type Condition, leavesOf, PLAIN_TEXT } from "../rules/rule-conditions.ts";
import { isPlainText } from "../rules/rule-patterns.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { parseRule } from "../rules/rule.ts";
import { stricter } from "../verdict.ts";

/** Why a recorded call cannot be judged again. */
export type Unjudged = "no_digest" | "no_tool" | "secret" | "too_long" | "asynchronous" | "failed";

/** What the record keeps of a call, so that another policy can judge it again: masked, at most 1 KB. Plain JSON. */
export interface CallDigest {
  /** The values that conditions compare. Of a long text only its beginning; a secret and a long list are `null`. */
  input: Record<string, unknown>;
  /** The values that are not whole, by their path. */
  without?: Record<string, "secret" | "too_long">;
  /** Those of them that are plain text to their end. Of others that are too long, the beginning ends with `…`. */
  plain?: string[];
  /** What rules match, where the values above do not give it. */
  signature?: Omit<Signature, "command">;
  /** What the tool said itself, where the values above do not give it. */
  permission?: ToolPermission | null;
  /** How many things the call reads, creates, changes, deletes or sends. */
  effects?: Effects;
  /** The folders that it changes. */
  folders?: string[];
  /** Whether the session had read untrusted text when a person was asked. Undefined if that is not known. */
  hasReadUntrusted?: boolean;
  mode?: CallMode;
  /** What the policy said before a person answered. */
  said?: Pick<Verdict, "decision" | "by" | "origin">;
  /** What a shadow policy said, if it was something else. */
  shadow?: ShadowVerdict;
  /** Set if nothing else is known. */
  unjudged?: Unjudged;
}

const MAX_BYTES = 1024;
const MAX_COMMAND = 700;
const MAX_TEXT = 160;
const KEPT_TEXT = 24;
const MAX_PATHS = 8;

/** `hidden`: the input as the record keeps it, without secrets. Undefined for a call whose tool or input is not known. */
export function digestOf(call: Call, hidden: unknown): CallDigest | undefined {
  const { tool, input, options, policy } = call;
  if (!tool || !isObject(input) || !isObject(hidden)) return undefined;
  const said = policy?.said && { decision: policy.said.decision, by: policy.said.by, origin: policy.said.origin };
  const facts = { hasReadUntrusted: policy?.hasReadUntrusted, mode: options.mode, said, shadow: policy?.shadow };
  let digest: CallDigest;
  try {
    digest = { ...readValues(call, tool, { input, hidden }), ...facts };
  } catch (error) {
    digest = { input: {}, unjudged: isAnswerPending(error) ? "asynchronous" : "failed", ...facts };
  }
  return Buffer.byteLength(JSON.stringify(digest)) <= MAX_BYTES
    ? digest
    : { input: {}, unjudged: "too_long", ...facts };
}

function readValues(call: Call, tool: AnyTool, { input, hidden }: { input: object; hidden: object }): CallDigest {
  const signature = readSignature(tool, input);
  const { command, effects, changes = [] } = signature ?? {};
  const shown = new Map(leavesOf(hidden).map(([path, value]) => [path.join("."), value]));
  const kept: Record<string, unknown> = {};
  const without: NonNullable<CallDigest["without"]> = {};
  const plain: string[] = [];
  let unjudged: Unjudged | undefined;
  for (const [path, value] of leavesOf(input)) {
    const name = path.join(".");
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const start = text.slice(0, KEPT_TEXT);
    const isLong = text.length > (value === command?.text ? MAX_COMMAND : MAX_TEXT);
    const seen = shown.get(name);
    const isSecret = isLong ? !String(seen).startsWith(start) : JSON.stringify(seen) !== JSON.stringify(value);
    const reason = isSecret ? "secret" : isLong ? "too_long" : undefined;
    const isPlain = isPlainText(text);
    const cut = !isSecret && typeof value === "string" ? `${start}${isPlain ? "" : "…"}` : null;
    place(kept, path, reason === undefined ? value : cut);
    if (reason === undefined) continue;
    without[name] = reason;
    if (isPlain && cut !== null) plain.push(name);
    // Nothing else says what runs.
    if (value === command?.text) unjudged = reason;
  }
  const digest: CallDigest = {
    input: kept,
    effects: effects ?? (changes.length > 0 ? { change: changes.length } : undefined),
    folders: changes.length > 0 ? foldersOf(changes) : undefined,
    unjudged,
  };
  return Object.keys(without).length === 0
    ? digest
    : { ...digest, without, plain, ...answersOf(call, tool, signature) };
}

/** What the tool says about the whole input. */
function answersOf(
  call: Call,
  tool: AnyTool,
  signature: Signature | undefined,
): Pick<CallDigest, "signature" | "permission" | "unjudged"> {
  const permission = readPermission(tool, call.input, { call }) ?? null;
  if (!signature || signature.command) return { permission };
  const { text, changes = [], reads = [], urls = [] } = signature;
  const all = [...changes, ...reads, ...urls];
  if (all.length > MAX_PATHS) return { permission, unjudged: "too_long" };
  if (all.some((one) => hideSecrets(one) !== one)) return { permission, unjudged: "secret" };
  // If the call names files or hosts, rules match these and not the text.
  if (all.length === 0 && (text.length > MAX_TEXT || hideSecrets(text) !== text))
    return { permission, unjudged: "too_long" };
  return { permission, signature: { text: all.length === 0 ? text : "", changes, reads, urls } };
}

function foldersOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => hideSecrets(dirname(path)).slice(0, MAX_TEXT)))].slice(0, MAX_PATHS);
}

/** Sets a value in nested objects. */
function place(into: Record<string, unknown>, [first = "", ...rest]: readonly string[], value: unknown): void {
  if (first === "__proto__") throw new TypeError("This name is not one of a parameter.");
  if (rest.length === 0) return void (into[first] = value);
  const inner = into[first] ?? (into[first] = {});
  if (!isObject(inner)) throw new TypeError("Two parameters have the same name.");
  place(inner, rest, value);
}

/** A call as it was recorded. */
export interface RecordedCall {
  callId: string;
  toolName: string;
  at: number;
  session?: string;
  user?: string;
  digest: CallDigest | undefined;
}

/** Why this policy cannot judge the digest: what it compares was not kept. */
export function unjudgedBy(ruleSet: RuleSet, tool: AnyTool, digest: CallDigest | undefined): Unjudged | undefined {
  if (!digest) return "no_digest";
  const { unjudged, without, plain } = digest;
  if (unjudged !== undefined || !without) return unjudged;
  for (const { text, appliesTo } of ruleSet.compiled()) {
    if (!appliesTo(tool)) continue;
    const { conditions, spec } = parseRule(text);
    // `Tool(name:value)` compares a parameter too.
    const compared = conditions?.filter(({ literal, only }) => literal !== "*" && !only) ?? [];
    const isKnown = (reason: Unjudged, { value, matches }: Condition): boolean =>
      reason === "too_long" && plain !== undefined && matches !== undefined && value === PLAIN_TEXT;
    for (const [name, reason] of Object.entries(without)) {
      const isNamed = compared.some((one) => isAbout(tool, one.parameter, name) && !isKnown(reason, one));
      if (isNamed || (!conditions && spec?.startsWith(`${name}:`))) return reason;
    }
  }
  return undefined;
}

function isAbout(tool: AnyTool, [first = "", ...rest]: readonly string[] = [], name: string): boolean {
  return [tool.parameterAliases.get(first) ?? first, ...rest].join(".") === name;
}

/** What the tool says about the call, found out once: several policies may judge it. */
export function answersFor(tool: AnyTool, { input, signature, permission, without }: CallDigest): ToolAnswers {
  const answers: ToolAnswers = {};
  if (without && permission !== undefined) answers.permission = { value: permission ?? undefined };
  else askOnce(answers, tool, input);
  if (without && signature) answers.signature = { value: signature, failed: false };
  if (!tool.signature) return answers;
  try {
    answers.signature ??= { value: readSignature(tool, input), failed: false };
  } catch (error) {
    if (isAnswerPending(error)) throw error;
    answers.signature = { value: undefined, failed: true };
  }
  return answers;
}

/** The tool is asked when a policy needs it, and once: its answer is the same for all policies. */
function askOnce(answers: ToolAnswers, tool: AnyTool, input: unknown): void {
  let permission: ToolAnswers["permission"];
  Object.defineProperty(answers, "permission", {
    get: () => (permission ??= { value: readPermission(tool, input) }),
    enumerable: true,
  });
}

/** The verdict of the gate's judge on a recorded call. What hooks, labels and the host said at that time still counts. */
export function judgeDigest(
  ruleSet: RuleSet,
  {
    tool,
    digest,
    cwd,
    answers = answersFor(tool, digest),
  }: { tool: AnyTool; digest: CallDigest; cwd: string; answers?: ToolAnswers },
): Verdict {
  const { input, mode, said } = digest;
  const verdict = ruleSet.judge({ tool, input, mode, cwd, answers });
  const isOther =
    said && (said.by === "hook" || said.by === "provenance" || said.by === "taint" || said.origin === "decide");
  if (!isOther || said.decision === "allow") return verdict;
  return stricter(verdict, { ...said, reason: `At that time, ${said.by} decided: ${said.decision}.` });
}
