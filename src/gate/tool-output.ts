import { type Call, toolOf } from "../core/call.ts";
import { type Content, firstLine, isContentList, text, textOf } from "../core/content.ts";
import { failureOf, failureText, isErrorCode, toFailure, type ToolFailure } from "../core/error.ts";
import { isJsonPrimitive, MAX_CONTENT_TEXT_LENGTH, type PlainData, toPlainData } from "../core/json.ts";
import {
  type CompletedResult,
  failed,
  pending,
  type PendingResult,
  type ResultMetadata,
  type ToolResult,
} from "../core/result.ts";
import { isObject } from "../schema/json-schema.ts";

/** Converts a tool's return value to a result. */
export function fromOutput(call: Call, value: unknown): ToolResult {
  // The common cases: text and numbers.
  if (isJsonPrimitive(value, MAX_CONTENT_TEXT_LENGTH)) {
    const text = typeof value === "string" ? value : String(value);
    return completed(call, [{ type: "text", text }], typeof value === "string" ? firstLine(text) : text, value, {});
  }
  const output = readOutput(value, toolOf(call).output !== undefined);
  if (!output.error && !output.pending) {
    return completed(call, output.content, output.display, output.details, output.metadata ?? {});
  }
  return unfinished(call, output);
}

function unfinished(call: Call, output: ReadOutput): ToolResult {
  const result = output.pending ? pending(call, output.pending, "") : failed(call, output.error!);
  // Incomplete data looks like an answer: the model must read that it is not.
  const isBroken = output.error?.code === "bad_output";
  result.content = isBroken ? [...result.content, ...output.content] : output.content;
  if (!isBroken) result.display = output.display;
  result.metadata = output.metadata ?? {};
  if (output.details !== undefined) result.details = output.details;
  return result;
}

function completed(
  call: Call,
  content: Content[],
  display: string,
  details: unknown,
  metadata: ResultMetadata,
): CompletedResult {
  return {
    callId: call.id,
    toolName: toolOf(call).name,
    status: "completed",
    success: true,
    content,
    display,
    details,
    metadata,
    startedAt: call.startedAt,
    completedAt: 0,
    durationMs: 0,
  };
}

/** A tool's return value as content, display and details. */
interface ReadOutput {
  content: Content[];
  details: unknown;
  display: string;
  metadata: Record<string, unknown> | undefined;
  error: ToolFailure | undefined;
  pending: PendingResult["pending"] | undefined;
}

/** Reads plain data, a ToolOutput or a foreign result. `declaresOutput`: what only resembles a result is data. */
export function readOutput(value: unknown, declaresOutput: boolean): ReadOutput {
  if (typeof value === "object" && value !== null) {
    const shaped = readShaped(value, declaresOutput);
    if (shaped) return shaped;
  }
  if (value === undefined) return output([{ type: "text", text: "" }], undefined, "done");
  return readData(value);
}

function readData(value: unknown): ReadOutput {
  if (value instanceof Error) {
    const failure = toFailure(value);
    const shown = failureText(failure);
    return { ...output([text(shown)], undefined, firstLine(shown)), error: failure };
  }
  const plain = toPlainData(value);
  const shown = typeof plain.value === "string" ? plain.value : (JSON.stringify(plain.value) ?? "");
  const read = output([{ type: "text", text: shown }], plain.value, firstLine(shown), warningsOf(plain.warnings));
  reportCuts(read, plain.cuts);
  const faults = brokenIn(plain);
  if (faults.length > 0) read.error = unreadable(faults);
  return read;
}

/** The call has done its work, so a result that is too large is no failure. The model and the program read what is missing. */
function reportCuts(read: ReadOutput, parts: readonly string[]): void {
  if (parts.length === 0) return;
  const truncated = { reason: "result_too_large", parts: [...parts] } as const;
  read.metadata = { ...read.metadata, truncated };
  const notice = `[${truncated.reason}: ${parts.join("; ")}. The call is complete; request less output to see the rest.]`;
  // First, because the end of a long content is cut.
  read.content = [text(notice), ...read.content];
}

/** The faults that are not a matter of size. */
function brokenIn({ faults, cuts }: PlainData): string[] {
  return faults.filter((fault) => !cuts.includes(fault));
}

/** The effect has happened, so the readable part stays in addition to the error. */
function unreadable(faults: readonly string[]): ToolFailure {
  const message = `The tool ran, but its output is not plain data: ${faults.join("; ")}`;
  return failureOf("bad_output", message, { next: "Its effects may have happened.", data: { faults: [...faults] } });
}

function readShaped(value: object, declaresOutput: boolean): ReadOutput | undefined {
  try {
    const fields = value as Record<string, unknown>;
    if (isToolOutput(fields)) return readToolOutput(fields);
    if (typeof fields["success"] !== "boolean") return undefined;
    if ("llmContent" in fields) return readSeed(fields, fields["llmContent"], fields["displayContent"], undefined);
    if (typeof fields["toolName"] === "string" && typeof fields["startedAt"] === "number") {
      return readSeed(fields, fields["result"], undefined, fields["result"]);
    }
    const isBareResult = Object.keys(fields).every((key) => ["success", "data", "error", "metadata"].includes(key));
    if (!declaresOutput && isBareResult && ("data" in fields || "error" in fields)) {
      return readSeed(fields, fields["data"], undefined, fields["data"]);
    }
  } catch {
    // A getter threw: the copy as data reports it.
  }
  return undefined;
}

/**
 * A list of content blocks is a ToolOutput. `content` as text, or as an empty list, is common in plain data (a file's content), so
 * only keys of a ToolOutput may be beside it; and beside text, at least one.
 */
function isToolOutput(fields: Record<string, unknown>): boolean {
  const { content } = fields;
  if (typeof content !== "string" && !isContentList(content)) return false;
  if (typeof content !== "string" && content.length > 0) return true;
  const keys = Object.keys(fields);
  return (keys.length > 1 || typeof content !== "string") && keys.every((key) => OUTPUT_KEYS.includes(key));
}

/** `isError`, `structuredContent` and `_meta` are those of MCP, `is_error` that of Anthropic. */
const OUTPUT_KEYS = [
  ...["content", "details", "display", "metadata", "error", "pending"],
  ...["isError", "is_error", "structuredContent", "_meta"],
];

/** The details of an output and its other fields: none is lost. */
function readDetails(fields: Record<string, unknown>): { details: unknown; others: Record<string, unknown> } {
  const unknown = Object.entries(fields).filter(([key]) => !OUTPUT_KEYS.includes(key));
  const others = Object.fromEntries(unknown);
  if (fields["_meta"] !== undefined) others["_meta"] = fields["_meta"];
  const details = fields["details"] ?? fields["structuredContent"];
  if (details !== undefined || unknown.length === 0) return { details, others };
  return {
    details: Object.fromEntries(unknown),
    others: fields["_meta"] === undefined ? {} : { _meta: fields["_meta"] },
  };
}

function readToolOutput(fields: Record<string, unknown>): ReadOutput {
  const raw = fields["content"];
  const plainContent = toPlainData(typeof raw === "string" ? [text(raw)] : raw, MAX_CONTENT_TEXT_LENGTH);
  const blocks = plainContent.value as Content[];
  // Of too many blocks, the last ones have lost their fields.
  const content = plainContent.cuts.length === 0 ? blocks : blocks.filter((block) => isContentList([block]));
  const given = readDetails(fields);
  const details = toPlainData(given.details);
  const metadata = toPlainData({ ...given.others, ...asFields(fields["metadata"]) });
  const read = output(
    content,
    details.value,
    firstLine(typeof fields["display"] === "string" ? fields["display"] : textOf(content)),
    { ...asFields(metadata.value), ...warningsOf([...plainContent.warnings, ...details.warnings]) },
  );
  reportCuts(read, [
    ...plainContent.cuts.map((cut) => `content${cut.replace(/^output/, "")}`),
    ...details.cuts.map((cut) => `details.${cut}`.replace("details.output:", "details:")),
  ]);
  const faults = [...brokenIn(plainContent), ...brokenIn(details)];
  const pending = fields["pending"];
  if (isObject(pending) && isPendingKind(pending["kind"]))
    read.pending = { kind: pending["kind"], id: String(pending["id"]) };
  else if (pending) faults.push('pending: needs a kind ("job", "approval", "question" or "client") and an id');
  if (faults.length > 0) read.error = unreadable(faults);
  if (fields["error"] !== undefined && fields["error"] !== null) read.error = readFailure(fields["error"]);
  else if (fields["isError"] || fields["is_error"]) {
    read.error ??= failureOf("failed", textOf(content) || "The tool reported a failure without saying why.");
  }
  return read;
}

function isPendingKind(kind: unknown): kind is PendingResult["pending"]["kind"] {
  return kind === "job" || kind === "approval" || kind === "question" || kind === "client";
}

function asFields(value: unknown): Record<string, unknown> | undefined {
  return isObject(value) ? value : undefined;
}

function readSeed(fields: Record<string, unknown>, shown: unknown, display: unknown, details: unknown): ReadOutput {
  const read = readData(shown ?? "");
  read.details = details === undefined ? toPlainData(fields["details"]).value : read.details;
  if (typeof display === "string") read.display = firstLine(display);
  read.metadata = { ...read.metadata, ...asFields(toPlainData(fields["metadata"]).value) };
  if (fields["success"] === false) {
    read.error = readFailure(fields["error"] ?? "The tool reported a failure without saying why.");
    if (textOf(read.content) === "") read.content = [{ type: "text", text: failureText(read.error) }];
  }
  return read;
}

function readFailure(error: unknown): ToolFailure {
  if (isObject(error)) {
    const { code, message, next, data } = error;
    if (isErrorCode(code)) {
      return failureOf(code, String(message ?? "The tool failed."), {
        next: typeof next === "string" ? next : undefined,
        data: data === undefined ? undefined : toPlainData(data).value,
      });
    }
    return failureOf(
      "failed",
      typeof message === "string" ? message : (JSON.stringify(toPlainData(error).value) ?? ""),
    );
  }
  return failureOf("failed", String(error));
}

function output(content: Content[], details: unknown, display: string, metadata?: Record<string, unknown>): ReadOutput {
  return { content, details, display, metadata, error: undefined, pending: undefined };
}

function warningsOf(warnings: readonly string[]): Record<string, unknown> | undefined {
  return warnings.length > 0 ? { warnings } : undefined;
}
