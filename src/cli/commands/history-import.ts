/** Calls of other programs, from their files, judged by the policy. Nothing of them runs or is recorded. */
import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { ApiClient } from "../../contracts/index.ts";
import type { JudgeRequest, SimulateRequest, Simulation } from "../../contracts/policy.ts";
import type { TranscriptCall } from "../../models/transcripts.ts";
import { UsageError } from "../arguments.ts";

const MAX_FILES = 5000;
const MAX_CALLS = 1_000_000;
/** A line with an image may be long. A document of spans is one line, or many. */
const MAX_LINE = 32 * 1024 * 1024;
const PAGE = 500;

export interface ImportedHistory {
  files: number;
  calls: TranscriptCall[];
  /** Lines that cannot be read, and calls whose input is not there. */
  unreadable: number;
  /** Whether more was there than is read. */
  isCut: boolean;
}

/** A file, or a folder with files: transcripts of Claude Code and Codex, and OTLP as JSON. */
export async function readHistory(given: string, cwd: string, signal: AbortSignal): Promise<ImportedHistory> {
  const { TranscriptReader } = await import("../../models/transcripts.ts");
  const path = resolve(cwd, given);
  const files: string[] = [];
  await findFiles(path, files).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${given} cannot be read (${error.code ?? error.message}).`);
  });
  const history: ImportedHistory = { files: 0, calls: [], unreadable: 0, isCut: files.length > MAX_FILES };
  // One by one: a line may have more calls than a function takes arguments.
  const add = (calls: readonly TranscriptCall[]): void => {
    for (const call of calls) if (history.calls.length < MAX_CALLS) history.calls.push(call);
  };
  for (const file of files.slice(0, MAX_FILES)) {
    const reader = new TranscriptReader();
    // A document that is laid out over lines begins with a line that is none. Its lines are read as one.
    let document: string[] | undefined;
    let length = 0;
    let isFirst = true;
    for await (const line of linesOf(file)) {
      if (signal.aborted) return history;
      if (line === undefined) {
        reader.unreadable++;
        continue;
      }
      if (isFirst && /^\s*[[{]\s*$/.test(line)) document = [];
      if (line.trim() !== "") isFirst = false;
      length += line.length;
      if (document && length > MAX_LINE) {
        document = undefined;
        reader.unreadable++;
        break;
      }
      if (document) document.push(line);
      else add(reader.read(line));
      history.isCut ||= history.calls.length >= MAX_CALLS;
      if (history.calls.length >= MAX_CALLS) break;
    }
    if (document) add(reader.read(document.join("\n")));
    history.files++;
    history.unreadable += reader.unreadable;
    if (history.calls.length >= MAX_CALLS) break;
  }
  if (history.calls.length === 0)
    throw new UsageError(
      `${given} has no calls.`,
      "Give a transcript of Claude Code or Codex (.jsonl), or spans of OpenTelemetry as JSON.",
    );
  return history;
}

/** Links are not followed. */
async function findFiles(path: string, found: string[], isNamed = true): Promise<void> {
  const info = await lstat(path);
  if (info.isFile()) {
    if (isNamed || /\.jsonl?$/.test(path)) found.push(path);
    return;
  }
  if (!info.isDirectory()) return;
  for (const name of (await readdir(path)).sort()) {
    if (found.length > MAX_FILES) return;
    await findFiles(join(path, name), found, false);
  }
}

/** Undefined for a line that is too long. */
async function* linesOf(file: string): AsyncGenerator<string | undefined> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let isTooLong = false;
  for await (const chunk of createReadStream(file)) {
    const parts = decoder.write(chunk as Buffer).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      yield isTooLong ? undefined : rest + part;
      rest = "";
      isTooLong = false;
    }
    if (!isTooLong && rest.length + last.length > MAX_LINE) {
      isTooLong = true;
      rest = "";
    }
    if (!isTooLong) rest += last;
  }
  if (isTooLong) yield undefined;
  else if (rest !== "") yield rest;
}

type Decisions = Record<"allow" | "ask" | "deny", number>;

/** What the active and the changed rules say about calls of other programs. */
export interface JudgedHistory extends Simulation {
  files: number;
  calls: number;
  unreadable: number;
  isCut: boolean;
  /** By the active rules, and by the changed ones. */
  before: Decisions;
  after: Decisions;
}

export async function judgeHistory(
  client: Pick<ApiClient, "policy">,
  { files, calls, unreadable, isCut }: ImportedHistory,
  {
    request,
    changes,
    signal,
  }: { request: Pick<SimulateRequest, "add" | "remove" | "policy">; changes: number; signal: AbortSignal },
): Promise<JudgedHistory> {
  const none = (): Decisions => ({ allow: 0, ask: 0, deny: 0 });
  const report: JudgedHistory = {
    ...{ files, calls: calls.length, unreadable, isCut, before: none(), after: none() },
    ...{ judged: 0, skipped: 0, unjudged: {}, newly: none(), tools: [], changed: [] },
  };
  const counts = new Map<string, Simulation["tools"][number]>();
  for (let from = 0; from < calls.length && !signal.aborted; from += PAGE) {
    const page = calls.slice(from, from + PAGE);
    const given = page.map(({ agent, tool, input, cwd }): JudgeRequest["calls"][number] => {
      return { agent: agent ?? "other", tool: tool.slice(0, 1000), input, cwd, isWhole: true };
    });
    const { items } = await client.policy.judge({ ...request, calls: given });
    for (const [at, { before, after, unjudged = "failed", toolName = "", subject }] of items.entries()) {
      const call = page[at];
      if (!call) continue;
      if (!before || !after) {
        report.skipped++;
        report.unjudged[unjudged] = (report.unjudged[unjudged] ?? 0) + 1;
        continue;
      }
      report.judged++;
      report.before[before.decision]++;
      report.after[after.decision]++;
      if (before.decision === after.decision) continue;
      report.newly[after.decision]++;
      const key = [toolName, before.decision, after.decision].join("\0");
      const count = counts.get(key);
      if (count) count.count++;
      else counts.set(key, { tool: toolName, before: before.decision, after: after.decision, count: 1 });
      const { session, at: time = 0 } = call;
      if (report.changed.length < changes && subject)
        report.changed.push({ callId: `${from + at}`, toolName, subject, at: time, session, before, after });
    }
  }
  report.tools = [...counts.values()].sort((one, other) => other.count - one.count);
  return report;
}
