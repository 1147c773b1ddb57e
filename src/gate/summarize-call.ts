import { toPlainData } from "../core/json.ts";
import type { Verdict } from "../core/call.ts";
import {
  type CallSubject,
  type CallSummary,
  type CommandStep,
  rankOf,
  type Risk,
  type RiskLevel,
} from "../core/call-summary.ts";
import { type LocalizedText, localizedText, type TextKey } from "../core/localized-text.ts";
import { commandParser, type Signature } from "../core/signature.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject } from "../schema/json-schema.ts";
import { amountOf } from "../calls/grants.ts";
import { fromMicros } from "../calls/limits.ts";
import { rolesOf } from "./permit/provenance/roles.ts";
import { readSignature } from "./tool-answers.ts";

/** Longer subjects are cut: they are one line of a list. */
const MAX_SUBJECT_LENGTH = 300;
const MAX_RECIPIENTS = 3;

/** The subject, the risk and the steps of a call: the one place where they are computed. Never throws. */
export function summarizeCall(tool: AnyTool | undefined, input: unknown, verdict?: Verdict): CallSummary {
  const signature = tool && signatureOrNone(tool, input);
  const steps = signature?.command && commandParser()?.steps(signature.command.text);
  return {
    subject: subjectOf(tool, input, signature),
    risk: riskOf({ tool, input, signature, steps, verdict }),
    steps,
  };
}

function signatureOrNone(tool: AnyTool, input: unknown): Signature | undefined {
  try {
    return readSignature(tool, input);
  } catch {
    return undefined;
  }
}

/** The command, the path, the address, or the amount and who gets it. For a foreign tool: what its input names so. */
function subjectOf(tool: AnyTool | undefined, input: unknown, signature?: Signature): CallSubject {
  const { command, changes = [], reads = [], urls = [] } = signature ?? {};
  if (command) return subject("command", command.text);
  const searched = changes.length === 0 ? searchedText(input) : undefined;
  if (searched !== undefined && reads.length > 0) return subject("text", searched);
  // The workspace itself has an empty path.
  const paths = (changes.length > 0 ? changes : reads).map((path) => path || ".");
  if (paths.length > 0)
    return subject("path", paths.length > 3 ? `${paths[0]} +${paths.length - 1}` : paths.join(", "));
  if (urls[0] !== undefined) return subject("url", urls[0]);
  if (!isObject(input)) return subject("text", typeof input === "string" ? input : shownData(input));
  const declared = tool && amountOf(tool, input);
  const withUnit = (value: string | number, unit: unknown): CallSubject =>
    subject("amount", `${value}${shownUnit(unit)}${recipientsOf(tool, input)}`);
  if (declared) return withUnit(fromMicros(declared.micros), declared.unit);
  for (const [type, names] of NAMED) {
    const value = names.map((name) => input[name]).find((each) => typeof each === "string" || typeof each === "number");
    if (value === undefined || value === "") continue;
    if (type !== "amount") return subject(type, String(value));
    return withUnit(value, input["currency"]);
  }
  return subject("text", signature?.text ?? (Object.keys(input).length === 0 ? "" : shownData(input)));
}

/** A longer text could look like a recipient. */
function shownUnit(unit: unknown): string {
  return typeof unit === "string" && /^[\p{L}\p{Sc}]{1,8}$/u.test(unit) ? ` ${unit}` : "";
}

/** The arguments that decide where an amount goes, with their names: `, iban: DE89…`. */
function recipientsOf(tool: AnyTool | undefined, input: unknown): string {
  if (!tool) return "";
  const all = rolesOf(tool, []).argumentsOf(input);
  const names = all.flatMap(({ role, path, value }) => (role === "destination" ? `, ${path}: ${value}` : []));
  return (
    names.slice(0, MAX_RECIPIENTS).join("") +
    (names.length > MAX_RECIPIENTS ? ` +${names.length - MAX_RECIPIENTS}` : "")
  );
}

/** A validated input may hold what JSON does not have, such as a bigint. */
function shownData(input: unknown): string {
  return JSON.stringify(toPlainData(input).value) ?? "";
}

/** What a search looks for, and where if that is not everywhere. */
function searchedText(input: unknown): string | undefined {
  if (!isObject(input)) return undefined;
  const { pattern, query, path } = input;
  const text = [pattern, query].find((each): each is string => typeof each === "string" && each !== "");
  if (text === undefined) return undefined;
  return typeof path === "string" && path !== "" && path !== "." ? `${text} in ${path}` : text;
}

const NAMED: readonly (readonly [CallSubject["type"], readonly string[]])[] = [
  ["command", ["command", "cmd"]],
  ["path", ["path", "file_path", "filePath", "file"]],
  ["url", ["url", "uri", "host"]],
  ["amount", ["amount", "total", "price"]],
  ["text", ["query", "pattern", "code", "message", "text", "name", "id"]],
];

function subject(type: CallSubject["type"], text: string): CallSubject {
  // Cut first: the text may have any length, and the pattern is slow for long runs of blanks.
  const line = text
    .trimStart()
    .slice(0, 4 * MAX_SUBJECT_LENGTH)
    .replace(/\s*\n\s*/g, " ⏎ ")
    .trimEnd();
  return { type, text: line.length > MAX_SUBJECT_LENGTH ? `${line.slice(0, MAX_SUBJECT_LENGTH - 1)}…` : line };
}

interface Assessed {
  tool: AnyTool | undefined;
  input: unknown;
  signature: Signature | undefined;
  steps: readonly CommandStep[] | undefined;
  verdict: Verdict | undefined;
}

function riskOf(call: Assessed): Risk {
  const reasons = reasonsOf(call).sort((one, other) => rankOf(other.level) - rankOf(one.level));
  return { level: reasons[0]?.level ?? "high", reasons: reasons.map(({ why }) => why) };
}

interface Reason {
  level: RiskLevel;
  why: LocalizedText;
}

function reasonsOf({ tool, input, signature, steps, verdict }: Assessed): Reason[] {
  const reasons: Reason[] = [];
  const add = (level: RiskLevel, key: TextKey, values?: LocalizedText["values"]): void => {
    reasons.push({ level, why: localizedText(key, values) });
  };
  if (verdict?.by === "provenance" || verdict?.by === "taint") add("high", "risk.untrusted");
  if (isObject(input) && input["outside_sandbox"] === true) add("high", "risk.outsideSandbox");
  if (tool?.isReadOnly) add("low", "risk.reads");
  else if (steps) {
    if (signature?.command?.problem !== undefined) add("high", "risk.unclearCommand");
    const seen = new Set<string>();
    for (const { level, asks } of steps) {
      if (!asks || seen.has(asks.text)) continue;
      seen.add(asks.text);
      reasons.push({ level, why: asks });
    }
    if (reasons.length === 0) add("low", "risk.reads");
  } else addEffects(tool, input, signature, add);
  return reasons;
}

type Add = (level: RiskLevel, key: TextKey, values?: LocalizedText["values"]) => void;

function addEffects(tool: AnyTool | undefined, input: unknown, signature: Signature | undefined, add: Add): void {
  const { urls = [], changes = [], effects } = signature ?? {};
  const subject = subjectOf(tool, input, signature);
  if (urls[0] !== undefined) add("high", "risk.sends", { host: hostOf(urls[0]) });
  else if (subject.type === "amount") add("high", "risk.amount", { amount: subject.text });
  else if (effects?.delete !== undefined && effects.delete !== 0) add("medium", "risk.deletesFiles");
  else if (changes.length > 0) add("medium", "risk.changesFiles");
  else if (tool?.labels.includes("outside_effect")) add("high", "risk.outside");
  else if (tool?.origin.type === "builtin" && isObject(input) && typeof input["code"] === "string")
    add("medium", "risk.runsCode");
  else if (tool?.origin.type === "builtin") add("medium", "risk.changesState");
  else add("high", "risk.unknownEffect");
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
