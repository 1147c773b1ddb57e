import type { CallSubject, CallSummary, Risk } from "../core/call-summary.ts";
import { localizedText } from "../core/localized-text.ts";
import type { Signature } from "../core/signature.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject } from "../schema/json-schema.ts";
import { readSignature } from "./tool-answers.ts";

/** Longer subjects are cut: they are one line of a list. */
const MAX_SUBJECT_LENGTH = 300;

/** The subject and the risk of a call: the one place where they are computed. Never throws. */
export function summarizeCall(tool: AnyTool | undefined, input: unknown): CallSummary {
  const signature = tool && signatureOrNone(tool, input);
  return { subject: subjectOf(input, signature), risk: riskOf(tool, signature) };
}

function signatureOrNone(tool: AnyTool, input: unknown): Signature | undefined {
  try {
    return readSignature(tool, input);
  } catch {
    return undefined;
  }
}

/** The command, the path, the address or the amount. For a foreign tool: what its input names so. */
export function subjectOf(input: unknown, signature?: Signature): CallSubject {
  const { command, changes = [], reads = [], urls = [] } = signature ?? {};
  if (command) return subject("command", command.text);
  const paths = changes.length > 0 ? changes : reads;
  if (paths.length > 0)
    return subject("path", paths.length > 3 ? `${paths[0]} +${paths.length - 1}` : paths.join(", "));
  if (urls[0] !== undefined) return subject("url", urls[0]);
  if (!isObject(input)) return subject("text", typeof input === "string" ? input : (JSON.stringify(input) ?? ""));
  for (const [type, names] of NAMED) {
    const value = names.map((name) => input[name]).find((each) => typeof each === "string" || typeof each === "number");
    if (value === undefined || value === "") continue;
    const currency = type === "amount" && typeof input["currency"] === "string" ? ` ${input["currency"]}` : "";
    return subject(type, `${value}${currency}`);
  }
  const text = Object.keys(input).length === 0 ? "" : JSON.stringify(input);
  return subject("text", signature?.text ?? text);
}

const NAMED: readonly (readonly [CallSubject["type"], readonly string[]])[] = [
  ["command", ["command", "cmd"]],
  ["path", ["path", "file_path", "filePath", "file"]],
  ["url", ["url", "uri", "host"]],
  ["amount", ["amount", "total", "price"]],
  ["text", ["query", "pattern", "code", "message", "text", "name", "id"]],
];

function subject(type: CallSubject["type"], text: string): CallSubject {
  const line = text.replace(/\s*\n\s*/g, " ⏎ ").trim();
  return { type, text: line.length > MAX_SUBJECT_LENGTH ? `${line.slice(0, MAX_SUBJECT_LENGTH - 1)}…` : line };
}

function riskOf(tool: AnyTool | undefined, signature: Signature | undefined): Risk {
  if (tool?.kind === "readonly") return { level: "low", reasons: [localizedText("risk.reads")] };
  if (signature?.command) return { level: "high", reasons: [localizedText("risk.runsCommand")] };
  if (tool?.kind === "write" && (signature?.changes?.length ?? 0) > 0)
    return { level: "medium", reasons: [localizedText("risk.changesFiles")] };
  return { level: "high", reasons: [localizedText("risk.unknownEffect")] };
}
