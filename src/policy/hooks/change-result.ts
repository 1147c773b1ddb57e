import { failed } from "../../core/build-result.ts";
import type { Call } from "../../core/call.ts";
import { type Content, text } from "../../core/content.ts";
import { failureOf } from "../../core/error.ts";
import { firstLine } from "../../core/first-line.ts";
import type { ToolResult } from "../../core/result.ts";
import { type HookResult, recordOf } from "./judge-hooks.ts";

/** The result as the model gets it: replaced, commented, or held back where a hook that must see it could not. */
export function changeResult(
  call: Call,
  result: ToolResult,
  before: readonly HookResult[],
  after: readonly HookResult[],
): ToolResult {
  const withheld = after.find(({ failed }) => failed?.onFailure === "block");
  const replaced = after.findLast(({ answer }) => answer.updatedToolOutput);
  const kept = withheld ? withhold(call, withheld) : replaced ? replace(result, replaced) : result;
  const notes = [...before, ...after].flatMap(notesOf);
  const records = after.map(recordOf);
  const known = (result.metadata["hooks"] as unknown[] | undefined) ?? [];
  return {
    ...kept,
    content: [...kept.content, ...notes.map((note) => text(note))],
    metadata: { ...result.metadata, ...(records.length > 0 ? { hooks: [...known, ...records] } : {}) },
  };
}

function notesOf({ hook, answer }: HookResult): string[] {
  const { additionalContext, decision, reason } = answer;
  return [
    ...(additionalContext === undefined ? [] : [`A hook (${hook.origin}) adds: ${additionalContext}`]),
    // It has happened already; what is left is to say so.
    ...(hook.event === "PostToolUse" && decision === "deny"
      ? [`A hook (${hook.origin}) objects: ${reason ?? ""}`]
      : []),
  ];
}

/** Nothing of the old output stays, neither for the model nor for a program. */
function replace(result: ToolResult, { answer }: HookResult): ToolResult {
  const value = answer.updatedToolOutput?.value;
  const { details: _details, ...rest } = result;
  const content = contentOf(value);
  const shown = content.find((one) => one.type === "text")?.text ?? "";
  const isData = typeof value === "object" && value !== null && !Array.isArray(value);
  return {
    ...rest,
    content,
    display: firstLine(shown),
    ...(isData ? { details: value } : {}),
    ...(rest.status === "failed" ? { error: failureOf(rest.error.code, shown, rest.error.name) } : {}),
  } as ToolResult;
}

function contentOf(value: unknown): Content[] {
  if (typeof value === "string") return [text(value)];
  const isContent = Array.isArray(value) && value.length > 0 && value.every(isTextContent);
  return isContent ? value.map((one) => text(one.text)) : [text(JSON.stringify(value, null, 2) ?? "")];
}

function isTextContent(value: unknown): value is { type: "text"; text: string } {
  const { type, text: words } = (value ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof words === "string";
}

function withhold(call: Call, { hook, failed: failure }: HookResult): ToolResult {
  const message =
    `The tool has run, but its output is held back: the hook "${hook.name}" of ${hook.origin} failed ` +
    `(${failure?.why}). Do not repeat the call; tell the person that the hook is broken.`;
  return failed(call, failureOf("denied", message, "ToolPermissionError"));
}
