import { createHash } from "node:crypto";
import type { Caller } from "../core/call.ts";
import { canonicalJson } from "../core/canonical-json.ts";
import { definitionParts } from "../core/definition-parts.ts";
import type { Update } from "../core/event.ts";
import { hideSecrets, isSecretName } from "../core/mask-secret.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";

/** The first line of a recording. */
export interface RecordingHeader {
  type: "header";
  format: "haft-recording";
  version: 1;
  /** Unix milliseconds; the times of calls count from here. */
  startedAt: number;
  /** Whether secrets were hidden, so that whoever compares hides them too. */
  redacted: boolean;
  versions: Record<string, string>;
}

/** A tool as it was when it was first called. */
export interface RecordedTool {
  type: "tool";
  name: string;
  version: string;
  definition: string;
}

/** One call, written when it ended. */
export interface RecordedCall {
  type: "call";
  callId: string;
  parentId?: string;
  tool: string;
  input: unknown;
  caller: Caller;
  /** Moments of one sequence: what ended before another began is known without clocks. */
  began: number;
  ended: number;
  /** Milliseconds since the recording started, and how long the call took. */
  atMs: number;
  durationMs: number;
  /** Whether the tool's own code ran: what was refused before is refused again by the gate itself. */
  ran: boolean;
  updates: { atMs: number; update: Update }[];
  result: ToolResult;
}

export type RecordingLine = RecordingHeader | RecordedTool | RecordedCall;

export interface Recording {
  header: RecordingHeader;
  tools: ReadonlyMap<string, RecordedTool>;
  /** In the order in which they began. */
  calls: readonly RecordedCall[];
}

export function parseRecording(lines: readonly string[], file: string): Recording {
  const parsed = lines.map((line, index): RecordingLine => {
    try {
      return JSON.parse(line) as RecordingLine;
    } catch (cause) {
      throw new Error(`${file}:${index + 1} is not a line of a recording.`, { cause });
    }
  });
  const header = parsed[0];
  if (header?.type !== "header" || header.format !== "haft-recording") {
    throw new Error(`${file} is not a recording: its first line is no header.`);
  }
  const version: number = header.version;
  if (version !== 1)
    throw new Error(`${file} was recorded in format ${version}; this Haft reads format 1. Update Haft.`);
  const tools = new Map(parsed.flatMap((line) => (line.type === "tool" ? [[line.name, line] as const] : [])));
  const calls = parsed.filter((line) => line.type === "call").sort((a, b) => a.began - b.began);
  return { header, tools, calls };
}

const definitions = new WeakMap<AnyTool, string>();

export function definitionOf(tool: AnyTool): string {
  let hash = definitions.get(tool);
  if (hash === undefined) {
    hash = `sha256:${createHash("sha256")
      .update(canonicalJson(definitionParts(tool)))
      .digest("hex")}`;
    definitions.set(tool, hash);
  }
  return hash;
}

/** The same data with what is secret by its name or its shape hidden, and nothing cut. */
export function hideSecretsIn(value: unknown, isSecret = false): unknown {
  if (typeof value === "string") return isSecret && value !== "" ? "[hidden]" : hideSecrets(value);
  if (typeof value !== "object" || value === null) return isSecret && typeof value === "number" ? "[hidden]" : value;
  if (Array.isArray(value)) return value.map((item) => hideSecretsIn(item, isSecret));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, hideSecretsIn(field, isSecret || isSecretName(key))]),
  );
}
