import { type Call, type Caller, toolOf } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import { estimatedTokens, type TokenCounter } from "../core/token-counter.ts";
import { cutMiddle } from "./cut-middle.ts";
import { bytesForTokens } from "./token-budget.ts";

/** Keeps what did not fit the model's context. `how` tells the model to get at it, in one sentence. */
export interface Spill {
  save(output: {
    callId: string;
    toolName: string;
    text: string;
    caller: Caller;
  }): MaybePromise<{ ref: string; how: string }>;
  /** The whole output again, by the `ref` that the result's metadata names. */
  read(ref: string): MaybePromise<string | undefined>;
}

/** About 12,000 tokens: a file of 2,000 short lines. */
const DEFAULT_RESULT_BYTES = 50 * 1024;

export interface ResultLimits {
  maxBytes?: number | undefined;
  maxResultTokens?: number | undefined;
  /** What `maxTokens` is counted in. */
  tokens?: TokenCounter;
}

/** Cuts text that is too long for a model, once, here; says what was cut and where the rest lies. */
export function bound(spill: Spill, limits: ResultLimits = {}): Stage {
  const { maxBytes = DEFAULT_RESULT_BYTES, maxResultTokens, tokens = estimatedTokens } = limits;
  return {
    name: "bound",
    leave(call, result) {
      const own = call.tool?.limits;
      const bytes = own?.maxResultBytes ?? maxBytes;
      const tokenLimit = own?.maxResultTokens ?? maxResultTokens;
      const budget =
        tokenLimit === undefined ? bytes : Math.min(bytes, bytesForTokens(longestText(result), tokenLimit, tokens));
      if (fits(result.content, budget) && messageFits(result, budget)) return result;
      return cut(call, result, budget);
    },
  };

  function cut(call: Call, result: ToolResult, budget: number): MaybePromise<ToolResult> {
    const whole = result.content.map((block) => readable(block) ?? "").join("\n");
    const bytes = Buffer.byteLength(whole);
    const shorten = (where: string): ToolResult => {
      let left = budget;
      const content = result.content.flatMap((block): Content[] => {
        const all = readable(block);
        if (all === undefined) return [block];
        // The block that was cut has said that there is more.
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
    const lost = (): ToolResult => shorten("The rest could not be kept; ask for less at once.");
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

/** What a model reads of a block as text: a resource may hold a whole file. */
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

/** Keeps whole outputs in memory: for runtimes without a workspace. The oldest go first. */
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
    return { ref, how: `The whole output is kept as ${ref}; ask for less at once to see the rest.` };
  }

  read(ref: string): string | undefined {
    return this.#texts.get(ref);
  }
}
