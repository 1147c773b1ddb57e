import { type Call, type Caller, toolOf } from "../core/call.ts";
import type { Content, TokenCounter } from "../core/content.ts";
import { failureText } from "../core/error.ts";
import { DEFAULT_RESULT_TOKENS, estimatedTokens } from "../core/results/estimated-tokens.ts";
import { formatJson } from "../core/results/format-json.ts";
import { showCall } from "../core/results/next-call.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";

/** Keeps output that did not fit the model's context. */
export interface Spill {
  /** Saves a whole result. `how` tells the model in one sentence how to read it. Default: the call that reads it. */
  save(output: {
    callId: string;
    toolName: string;
    text: string;
    caller: Caller;
  }): MaybePromise<{ ref: string; how?: string }>;
  /** The whole output, by the `ref` in the result's metadata. */
  read(ref: string): MaybePromise<string | undefined>;
}

/** The bound for memory and for text with few tokens: what is shown is limited by tokens. */
const DEFAULT_RESULT_BYTES = 50 * 1024;

export interface ResultLimits {
  /** More than the default lifts the default budget of tokens. */
  maxResultBytes?: number | undefined;
  maxResultTokens?: number | undefined;
  /** Counts tokens for `maxResultTokens`. The default budget is estimated. */
  tokens?: TokenCounter;
  /** The tool with which this caller can read a spill by its address; undefined if there is none. */
  readerFor?: (call: Call) => AnyTool | undefined;
  /** The tool that queries JSON at an address. */
  queryFor?: (call: Call) => AnyTool | undefined;
}

interface Budget {
  bytes: number;
  tokens: number;
  counter: TokenCounter;
}

/** Shortens text that is too long for a model, with a notice of what was cut and the call that reads the rest. */
export function bound(spill: Spill, limits: ResultLimits = {}): Stage {
  const { tokens: counter = estimatedTokens, readerFor, queryFor } = limits;
  return { name: "bound", leave: limit, late: limit };

  function budgetOf(own: AnyTool["limits"] | undefined): Budget {
    const bytes = own?.maxResultBytes ?? limits.maxResultBytes;
    const tokens = own?.maxResultTokens ?? limits.maxResultTokens;
    if (tokens !== undefined) return { bytes: bytes ?? DEFAULT_RESULT_BYTES, tokens, counter };
    if (bytes !== undefined && bytes > DEFAULT_RESULT_BYTES) return { bytes, tokens: Infinity, counter };
    return { bytes: bytes ?? DEFAULT_RESULT_BYTES, tokens: DEFAULT_RESULT_TOKENS, counter: estimatedTokens };
  }

  function limit(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const budget = budgetOf(call.tool?.limits);
    if (fits(result, budget)) return result;
    return cut(call, formatted(result), budget);
  }

  function cut(call: Call, result: ToolResult, budget: Budget): MaybePromise<ToolResult> {
    const whole = result.content.map((block) => readable(block) ?? "").join("\n");
    const bytes = Buffer.byteLength(whole);
    const room = Math.min(budget.bytes, bytesForTokens(longestText(result), budget));
    const query = firstPath(whole);
    const shorten = (where: (gap: Gap) => string): ToolResult => {
      let left = room;
      let linesBefore = 0;
      const content = result.content.flatMap((block): Content[] => {
        const all = readable(block);
        if (all === undefined) return [block];
        // The shortened block already has the notice.
        if (left <= 0) return [];
        const text = cutMiddle(all, left, ({ line, column }) => where({ line: line + linesBefore, column }));
        left = text === all ? left - Buffer.byteLength(text) : 0;
        linesBefore += countLineFeeds(all) + 1;
        return [withText(block, text)];
      });
      const isText = typeof result.details === "string" && result.details === textAlone(result.content);
      const shown = content[0]?.type === "text" ? content[0].text : "";
      const short = { ...result, content, ...(isText ? { details: shown } : {}) };
      if (short.status !== "failed" || Buffer.byteLength(short.error.message) <= room) return short;
      const message = cutMiddle(short.error.message, room, () => where({ line: 1, column: 1 }));
      return { ...short, error: { ...short.error, message } };
    };
    const named = ({ ref, how }: { ref: string; how?: string }): ToolResult => {
      const shortened = shorten((gap) => how ?? howToRead(call, { ref, gap, query }));
      return { ...shortened, metadata: { ...shortened.metadata, spill: { ref, bytes } } };
    };
    const lost = (): ToolResult => shorten(() => "The rest could not be saved; request less output.");
    try {
      const kept = spill.save({ callId: call.id, toolName: toolOf(call).name, text: whole, caller: call.caller });
      return kept instanceof Promise ? kept.then(named, lost) : named(kept);
    } catch {
      return lost();
    }
  }

  function howToRead(call: Call, { ref, gap, query }: { ref: string; gap: Gap; query?: string }): string {
    // A store of the host has its own addresses.
    const reader = ref.startsWith("spill:") ? readerFor?.(call) : undefined;
    if (!reader) return `The whole output is kept as ${ref}; request less output to see the rest.`;
    const from = gap.column > 1 ? { offset: gap.line, column: gap.column } : { offset: gap.line };
    const next = `Continue with ${showCall(call, reader, { path: ref, ...from })}`;
    const tool = query === undefined ? undefined : queryFor?.(call);
    if (!tool) return `${next}.`;
    return `${next}, or query this JSON with ${showCall(call, tool, { path: ref, query })}.`;
  }
}

/** JSON in one line is shown in several, and saved as it is shown. */
function formatted(result: ToolResult): ToolResult {
  const shown = textAlone(result.content);
  const text = shown === undefined ? undefined : formatJson(shown);
  if (text === undefined) return result;
  const details = result.details === shown ? text : result.details;
  return { ...result, content: [{ type: "text", text }], details };
}

/** A path to the first value of a JSON text, as an example of a query; undefined if it is not JSON. */
function firstPath(text: string): string | undefined {
  const key = /^\{\s*("(?:[^"\\]|\\.)*")\s*:/.exec(text)?.[1];
  const path = text.startsWith("[") ? "[0]" : key && `[${key}]`;
  if (path === undefined) return undefined;
  try {
    JSON.parse(text);
    return path;
  } catch {
    return undefined;
  }
}

/** Where the rest begins: a line and a character of it, from 1. */
interface Gap {
  line: number;
  column: number;
}

function fits(result: ToolResult, budget: Budget): boolean {
  if (!textFits(result.content, budget)) return false;
  // A tool may throw its whole output as one message.
  return result.status !== "failed" || textFits([{ type: "text", text: failureText(result.error) }], budget);
}

/** A token is at least one byte, so most content needs no counting. */
function textFits(content: readonly Content[], { bytes: maxBytes, tokens: maxTokens, counter }: Budget): boolean {
  let bytes = 0;
  for (const block of content) bytes += Buffer.byteLength(readable(block) ?? "");
  if (bytes > maxBytes) return false;
  if (bytes <= maxTokens) return true;
  let tokens = 0;
  for (const block of content) tokens += counter.count(readable(block) ?? "");
  return tokens <= maxTokens;
}

function longestText({ content, ...result }: ToolResult): string {
  const shown = content.map((block) => readable(block) ?? "").join("\n");
  const failure = result.status === "failed" ? failureText(result.error) : "";
  return failure.length > shown.length ? failure : shown;
}

/** The text of a block that a model reads: a resource may hold a whole file. */
function readable(block: Content): string | undefined {
  if (block.type === "text") return block.text;
  return block.type === "resource" && typeof block.resource.text === "string" ? block.resource.text : undefined;
}

function withText(block: Content, text: string): Content {
  return block.type === "resource"
    ? { ...block, resource: { ...block.resource, text } }
    : ({ ...block, text } as Content);
}

function textAlone(content: readonly Content[]): string | undefined {
  return content.length === 1 && content[0]?.type === "text" ? content[0].text : undefined;
}

/** Keeps whole outputs in memory, for runtimes without a workspace. The oldest are dropped first. */
export class MemorySpill implements Spill {
  readonly #outputs = new Map<string, { text: string; owner: string }>();
  #characters = 0;

  constructor(
    readonly capacity = 100,
    readonly maxCharacters = 128 * 1024 * 1024,
  ) {}

  save({ callId, text, caller }: { callId: string; text: string; caller: Caller }): { ref: string } {
    const owner = ownerOf(caller);
    let ref = `spill:${callId}`;
    // Ids of calls are unique in a conversation only.
    for (let n = 1; (this.#outputs.get(ref)?.owner ?? owner) !== owner; n++) ref = `spill:${callId}-${n}`;
    this.#characters += text.length - (this.#outputs.get(ref)?.text.length ?? 0);
    this.#outputs.set(ref, { text, owner });
    for (const [oldest, { text: dropped }] of this.#outputs) {
      if (this.#outputs.size <= this.capacity && this.#characters <= this.maxCharacters) break;
      this.#outputs.delete(oldest);
      this.#characters -= dropped.length;
    }
    return { ref };
  }

  read(ref: string): string | undefined {
    return this.#outputs.get(ref)?.text;
  }

  /** For a tool: only an output of this caller's session. */
  readOwn(ref: string, caller: Caller): string | undefined {
    const found = this.#outputs.get(ref);
    return found?.owner === ownerOf(caller) ? found.text : undefined;
  }
}

function ownerOf({ user = "", session, agent = "" }: Caller): string {
  return JSON.stringify(session === undefined ? [user, "agent", agent] : [user, "session", session]);
}

/** The share of the head: errors are more often at the end of the output. */
const HEAD_SHARE = 0.5;
/** How far to look for a line end before cutting inside a line. */
const BOUNDARY_BYTES = 1024;

/** Head and tail of a text in UTF-8 bytes, cut at line ends if near, and a line about what is missing and `where`. */
export function cutMiddle(text: string, budget: number, where: (gap: Gap) => string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= budget) return text;
  // Numbers of the largest length that may appear.
  const longest = where({ line: bytes.length, column: bytes.length });
  const room = Math.max(0, budget - Buffer.byteLength(notice(bytes.length, bytes.length, longest)));
  const headEnd = lineEndBefore(bytes, Math.floor(room * HEAD_SHARE));
  const tailStart = lineStartAfter(bytes, bytes.length - (room - headEnd));
  const head = bytes.toString("utf8", 0, headEnd);
  const tail = bytes.toString("utf8", tailStart);
  return `${head}${notice(tailStart - headEnd, bytes.length, where(gapAfter(bytes, head, headEnd)))}${tail}`;
}

/** The next character that is not shown. A line feed that ends the head is not shown, but not missed either. */
function gapAfter(bytes: Buffer, head: string, headEnd: number): Gap {
  const line = countLineFeeds(head) + 1;
  if (bytes[headEnd] === LINE_FEED) return { line: line + 1, column: 1 };
  return { line, column: head.length - (head.lastIndexOf("\n") + 1) + 1 };
}

function countLineFeeds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function notice(missing: number, all: number, where: string): string {
  return `\n\n[… ${missing} of ${all} bytes left out here. ${where}]\n\n`;
}

const LINE_FEED = 0x0a;

function lineEndBefore(bytes: Buffer, at: number): number {
  // A negative offset would count from the end.
  const end = at > 0 ? bytes.lastIndexOf(LINE_FEED, at - 1) : -1;
  return end >= 0 && at - end <= BOUNDARY_BYTES ? end : characterStart(bytes, at);
}

function lineStartAfter(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(LINE_FEED, at);
  if (end >= 0 && end - at <= BOUNDARY_BYTES) return end + 1;
  let start = at;
  while (start < bytes.length && isContinuation(bytes[start]!)) start++;
  return start;
}

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isContinuation(bytes[start]!)) start--;
  return start;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Text rarely has more bytes per token: longer text exceeds the limit and is not counted in full. */
const MAX_BYTES_PER_TOKEN = 8;
const MAX_ROUNDS = 6;
/** The length of a typical spill notice. */
const WHERE = "The rest is there. ".repeat(9);

/** How many bytes of a text fit into the token limit together with the notice. */
function bytesForTokens(text: string, { tokens: maxTokens, counter }: Budget): number {
  if (maxTokens === Infinity) return Infinity;
  // No token is shorter than a byte.
  const max = maxTokens * MAX_BYTES_PER_TOKEN;
  const sample = text.length <= 2 * max ? text : text.slice(0, max) + text.slice(-max);
  const all = Buffer.byteLength(sample);
  if (all <= maxTokens) return all;
  let bytes = Math.min(all, max);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const taken = counter.count(cutMiddle(sample, bytes, () => WHERE));
    if (taken <= maxTokens) return bytes;
    bytes = Math.max(maxTokens, Math.floor((bytes * maxTokens * 0.97) / taken));
  }
  return maxTokens;
}
