import { type Content, isContentList, textOf } from "../core/content.ts";
import { failureOf, type ToolFailure } from "../core/error.ts";
import { firstLine } from "../core/first-line.ts";
import type { PendingResult } from "../core/result.ts";
import { isJsonPrimitive, MOST_CONTENT_TEXT, toPlainData } from "./plain-data.ts";

/** A tool's return value, whatever it was, in the three forms a result has. */
export interface ReadOutput {
  content: Content[];
  details: unknown;
  display: string;
  metadata: Record<string, unknown> | undefined;
  error: ToolFailure | undefined;
  pending: PendingResult["pending"] | undefined;
}

/**
 * Plain data, a string, a ToolOutput, or a result in the words of one of the seeds.
 * `declaresOutput`: the tool says what its data looks like, so data that merely resembles a result is data.
 */
export function readOutput(value: unknown, declaresOutput: boolean): ReadOutput {
  if (typeof value === "object" && value !== null) {
    const shaped = readShaped(value, declaresOutput);
    if (shaped) return shaped;
  }
  if (value === undefined) return output([{ type: "text", text: "" }], undefined, "done");
  if (isJsonPrimitive(value, MOST_CONTENT_TEXT)) {
    const shown = typeof value === "string" ? value : String(value);
    return output([{ type: "text", text: shown }], value, firstLine(shown));
  }
  return readData(value);
}

function readData(value: unknown): ReadOutput {
  const plain = toPlainData(value);
  const shown = typeof plain.value === "string" ? plain.value : (JSON.stringify(plain.value) ?? "");
  const read = output([{ type: "text", text: shown }], plain.value, firstLine(shown), warningsOf(plain.warnings));
  if (plain.faults.length > 0) read.error = unreadable(plain.faults);
  return read;
}

/** The effect has happened, so what could be read stays beside the error. */
function unreadable(faults: readonly string[]): ToolFailure {
  const message = `The tool ran, but returned what is not plain data: ${faults.join("; ")}. Its effects may have happened.`;
  return { ...failureOf("bad_output", message), data: { faults: [...faults] } };
}

function readShaped(value: object, declaresOutput: boolean): ReadOutput | undefined {
  try {
    const fields = value as Record<string, unknown>;
    if (isContentList(fields["content"]) || (typeof fields["content"] === "string" && isOutputObject(fields))) {
      return readToolOutput(fields);
    }
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
    // A getter threw: as data it is copied with that said.
  }
  return undefined;
}

/** `content` as text is common in plain data (a file's content), so further keys of a ToolOutput must stand beside it. */
function isOutputObject(fields: Record<string, unknown>): boolean {
  const known = ["content", "details", "display", "metadata", "error", "pending"];
  return Object.keys(fields).length > 1 && Object.keys(fields).every((key) => known.includes(key));
}

function readToolOutput(fields: Record<string, unknown>): ReadOutput {
  const raw = fields["content"];
  const plainContent = typeof raw === "string" ? undefined : toPlainData(raw, MOST_CONTENT_TEXT);
  const content = plainContent ? (plainContent.value as Content[]) : [{ type: "text" as const, text: raw as string }];
  const details = toPlainData(fields["details"]);
  const metadata = toPlainData(fields["metadata"]);
  const read = output(
    content,
    details.value,
    typeof fields["display"] === "string" ? fields["display"] : firstLine(textOf(content)),
    {
      ...(metadata.value as Record<string, unknown> | undefined),
      ...warningsOf([...(plainContent?.warnings ?? []), ...details.warnings]),
    },
  );
  const faults = [...(plainContent?.faults ?? []), ...details.faults];
  if (faults.length > 0) read.error = unreadable(faults);
  if (fields["error"] !== undefined) read.error = readFailure(fields["error"]);
  const pending = fields["pending"] as PendingResult["pending"] | undefined;
  if (pending) read.pending = { kind: pending.kind, id: String(pending.id) };
  return read;
}

function readSeed(fields: Record<string, unknown>, shown: unknown, display: unknown, details: unknown): ReadOutput {
  const read = readData(shown ?? "");
  read.details = details === undefined ? toPlainData(fields["details"]).value : read.details;
  if (typeof display === "string") read.display = display;
  if (typeof fields["metadata"] === "object" && fields["metadata"] !== null) {
    read.metadata = { ...read.metadata, ...(toPlainData(fields["metadata"]).value as Record<string, unknown>) };
  }
  if (fields["success"] === false) {
    read.error = readFailure(fields["error"] ?? "The tool reported a failure without saying why.");
    if (textOf(read.content) === "") read.content = [{ type: "text", text: read.error.message }];
  }
  return read;
}

function readFailure(error: unknown): ToolFailure {
  if (typeof error === "object" && error !== null) {
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    const known = typeof code === "string" ? failureOrUndefined(code, String(message ?? "The tool failed.")) : undefined;
    if (known && data !== undefined) known.data = toPlainData(data).value;
    if (known) return known;
    return failureOf("failed", typeof message === "string" ? message : (JSON.stringify(toPlainData(error).value) ?? ""));
  }
  return failureOf("failed", String(error));
}

function failureOrUndefined(code: string, message: string): ToolFailure | undefined {
  try {
    return failureOf(code as ToolFailure["code"], message);
  } catch {
    return undefined;
  }
}

function output(
  content: Content[],
  details: unknown,
  display: string,
  metadata?: Record<string, unknown>,
): ReadOutput {
  return { content, details, display, metadata, error: undefined, pending: undefined };
}

function warningsOf(warnings: readonly string[]): Record<string, unknown> | undefined {
  return warnings.length > 0 ? { warnings } : undefined;
}
