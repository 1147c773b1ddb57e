import { type Call, type Caller, toolOf } from "../core/call.ts";
import { type Content, estimatedTokens, type TokenCounter } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";

/** Keeps output that did not fit the model's context. `how` tells the model in one sentence how to read it. */
export interface Spill {
  /** Saves a whole result; returns how to read it. */
  save(output: {
    callId: string;
    toolName: string;
    text: string;
    caller: Caller;
  }): MaybePromise<{ ref: string; how: string }>;
  /** The whole output, by the `ref` in the result's metadata. */
  read(ref: string): MaybePromise<string | undefined>;
}

/** About 12,000 tokens: a file of 2,000 short lines. */
const DEFAULT_RESULT_BYTES = 50 * 1024;

export interface ResultLimits {
  maxResultBytes?: number | undefined;
  maxResultTokens?: number | undefined;
  /** Counts tokens for `maxResultTokens`. */
  tokens?: TokenCounter;
}

/** Shortens text that is too long for a model, with a notice of what was cut and where the rest is. */
export function bound(spill: Spill, limits: ResultLimits = {}): Stage {
  const { maxResultBytes = DEFAULT_RESULT_BYTES, maxResultTokens, tokens = estimatedTokens } = limits;
  return { name: "bound", leave: limit, late: limit };

  function limit(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const own = call.tool?.limits;
    const bytes = own?.maxResultBytes ?? maxResultBytes;
    const tokenLimit = own?.maxResultTokens ?? maxResultTokens;
    const budget =
      tokenLimit === undefined ? bytes : Math.min(bytes, bytesForTokens(longestText(result), tokenLimit, tokens));
    if (fits(result.content, budget) && messageFits(result, budget)) return result;
    return cut(call, result, budget);
  }

  function cut(call: Call, result: ToolResult, budget: number): MaybePromise<ToolResult> {
    const whole = result.content.map((block) => readable(block) ?? "").join("\n");
    const bytes = Buffer.byteLength(whole);
    const shorten = (where: string): ToolResult => {
      let left = budget;
      const content = result.content.flatMap((block): Content[] => {
        const all = readable(block);
        if (all === undefined) return [block];
        // The shortened block already has the notice.
        if (left <= 0) return [];
        const text = cutMiddle(all, left, where);
        left = text === all ? left - Buffer.byteLength(text) : 0;
        return [withText(block, text)];
      });
      const isText = typeof result.details === "string" && result.details === textAlone(result.content);
      const shown = content[0]?.type === "text" ? content[0].text : "";
      const short = { ...result, content, ...(isText ? { details: shown } : {}) };
      if (short.status !== "failed" || messageFits(short, budget)) return short;
      return { ...short, error: { ...short.error, message: cutMiddle(short.error.message, budget, where) } };
    };
    const named = (kept: { ref: string; how: string }): ToolResult => {
      const shortened = shorten(kept.how);
      return { ...shortened, metadata: { ...shortened.metadata, spill: { ref: kept.ref, bytes } } };
    };
    const lost = (): ToolResult => shorten("The rest could not be saved; request less output.");
    try {
      const kept = spill.save({ callId: call.id, toolName: toolOf(call).name, text: whole, caller: call.caller });
      return kept instanceof Promise ? kept.then(named, lost) : named(kept);
    } catch {
      return lost();
    }
  }
}

/** A character is at most three bytes, so most content needs no counting. */
function fits(content: readonly Content[], budget: number): boolean {
  let characters = 0;
  for (const block of content) characters += readable(block)?.length ?? 0;
  if (characters * 3 <= budget) return true;
  let bytes = 0;
  for (const block of content) bytes += Buffer.byteLength(readable(block) ?? "");
  return bytes <= budget;
}

function longestText({ content, ...result }: ToolResult): string {
  const shown = content.map((block) => readable(block) ?? "").join("\n");
  return result.status === "failed" && result.error.message.length > shown.length ? result.error.message : shown;
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

/** A tool may throw its whole output as one message. */
function messageFits(result: ToolResult, budget: number): boolean {
  return result.status !== "failed" || Buffer.byteLength(result.error.message) <= budget;
}

function textAlone(content: readonly Content[]): string | undefined {
  return content.length === 1 && content[0]?.type === "text" ? content[0].text : undefined;
}

/** Keeps whole outputs in memory, for runtimes without a workspace. The oldest are dropped first. */
export class MemorySpill implements Spill {
  readonly #texts = new Map<string, string>();
  #characters = 0;

  constructor(
    readonly capacity = 100,
    readonly maxCharacters = 128 * 1024 * 1024,
  ) {}

  save({ callId, text }: { callId: string; text: string }): { ref: string; how: string } {
    const ref = `spill:${callId}`;
    this.#characters += text.length - (this.#texts.get(ref)?.length ?? 0);
    this.#texts.set(ref, text);
    for (const [oldest, { length }] of this.#texts) {
      if (this.#texts.size <= this.capacity && this.#characters <= this.maxCharacters) break;
      this.#texts.delete(oldest);
      this.#characters -= length;
    }
    return { ref, how: `The whole output is kept as ${ref}; request less output to see the rest.` };
  }

  read(ref: string): string | undefined {
    return this.#texts.get(ref);
  }
}

/** The share of the head: errors are more often at the end of the output. */
const HEAD_SHARE = 0.5;
/** How far to look for a line end before cutting inside a line. */
const BOUNDARY_BYTES = 1024;

/**
 * Head and tail of a text within a budget of UTF-8 bytes, cut at a nearby line end if there is one, with a line between them
 * that says how much is missing and `where` the whole text is.
 */
export function cutMiddle(text: string, budget: number, where: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= budget) return text;
  const room = Math.max(0, budget - Buffer.byteLength(notice(bytes.length, bytes.length, where)));
  const headEnd = lineEndBefore(bytes, Math.floor(room * HEAD_SHARE));
  const tailStart = lineStartAfter(bytes, bytes.length - (room - headEnd));
  const head = bytes.toString("utf8", 0, headEnd);
  const tail = bytes.toString("utf8", tailStart);
  return `${head}${notice(tailStart - headEnd, bytes.length, where)}${tail}`;
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
const WHERE = "x".repeat(160);

/** How many bytes of a text fit into the token limit together with the notice. */
function bytesForTokens(text: string, maxTokens: number, tokens: TokenCounter): number {
  const all = Buffer.byteLength(text);
  // No token is shorter than a byte.
  if (all <= maxTokens) return all;
  let bytes = Math.min(all, maxTokens * MAX_BYTES_PER_TOKEN);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const taken = tokens.count(cutMiddle(text, bytes, WHERE));
    if (taken <= maxTokens) return bytes;
    bytes = Math.max(maxTokens, Math.floor((bytes * maxTokens * 0.97) / taken));
  }
  return maxTokens;
}
