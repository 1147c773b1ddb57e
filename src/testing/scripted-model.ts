import { type CallMode, nextCallId } from "../core/call.ts";
import { textOf } from "../core/content.ts";
import type { FunctionDeclaration } from "../core/definition.ts";
import type { ToolResult } from "../core/result.ts";
import type { LanguageModel, ModelCallOptions } from "../models/agent/language-model.ts";
import type { Haft } from "../runtime.ts";

export interface ScriptedCall {
  id?: string;
  name: string;
  input?: unknown;
}

/** What a model says in one turn. No calls means that it is done. */
export interface ScriptedTurn {
  text?: string;
  calls?: readonly ScriptedCall[];
}

/** What a model is given before it speaks. */
export interface ModelView {
  tools: readonly FunctionDeclaration[];
  /** Of the turn before, in call order. */
  results: readonly ToolResult[];
}

/** A model whose turns are written down: each is a turn, or is made from what the model sees. */
export interface ScriptedModel {
  /** The next turn. */
  respond(view: ModelView): ScriptedTurn;
  /** What it was given, turn by turn. */
  readonly seen: readonly ModelView[];
}

/** What a scripted model answers, turn by turn. */
export type Script = readonly (ScriptedTurn | ((view: ModelView) => ScriptedTurn))[];

/** Makes a model that follows a script. */
export function createScriptedModel(script: Script): ScriptedModel {
  const seen: ModelView[] = [];
  return {
    seen,
    respond(view) {
      const turn = script[seen.length];
      seen.push(view);
      if (turn === undefined)
        throw new Error(`The script has ${script.length} turns, but the model was asked once more.`);
      return typeof turn === "function" ? turn(view) : turn;
    },
  };
}

/** Plays a scripted model against a runtime until it makes no more calls. Gives what it said last, and every result. */
export async function playScript(
  haft: Haft,
  model: ScriptedModel,
  options: { session?: string; mode?: CallMode } = {},
): Promise<{ text: string; results: ToolResult[] }> {
  const { session = "scripted", mode = "default" } = options;
  const all: ToolResult[] = [];
  let results: ToolResult[] = [];
  for (let turnNumber = 1; ; turnNumber++) {
    const turn = model.respond({ tools: haft.tools.definitions({ mode }), results });
    if (!turn.calls || turn.calls.length === 0) return { text: turn.text ?? "", results: all };
    const calls = turn.calls.map((call, i) => ({ ...call, id: call.id ?? `turn${turnNumber}_${i + 1}` }));
    results = await haft.executeMany(calls, { mode, caller: { session } });
    all.push(...results);
  }
}

/** What a model would read of some results. */
export function readResults(results: readonly ToolResult[]): string[] {
  return results.map(({ content }) => textOf(content));
}

/** What a language model was asked with, as far as scripts look at it. */
export interface LanguageModelRequest {
  prompt: readonly { role: string; content: string | readonly Record<string, unknown>[] }[];
  tools?: readonly { name: string; description?: string; inputSchema?: unknown }[];
  abortSignal?: AbortSignal;
}

export interface ScriptedLanguageTurn extends ScriptedTurn {
  reasoning?: string;
  usage?: { inputTokens?: number; outputTokens?: number };
  finish?: "stop" | "length" | "content-filter";
}

/** What a scripted language model answers, turn by turn. */
export type LanguageScript = readonly (
  | ScriptedLanguageTurn
  | Error
  | ((request: LanguageModelRequest) => ScriptedLanguageTurn | Promise<ScriptedLanguageTurn>)
)[];

/** A language model of the AI SDK (specification v3) that follows a script. */
export interface ScriptedLanguageModel extends LanguageModel {
  readonly specificationVersion: "v3";
  /** What it was asked with, turn by turn. */
  readonly requests: readonly LanguageModelRequest[];
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(options: ModelCallOptions): Promise<ScriptedAnswer>;
  doStream(options: ModelCallOptions): Promise<{ stream: ReadableStream<ScriptedStreamPart> }>;
}

export interface ScriptedAnswer {
  content: ScriptedPart[];
  finishReason: { unified: "stop" | "length" | "content-filter" | "tool-calls"; raw: undefined };
  usage: {
    inputTokens: { total: number; noCache: undefined; cacheRead: undefined; cacheWrite: undefined };
    outputTokens: { total: number; text: undefined; reasoning: undefined };
  };
  warnings: [];
}

type SpokenPart = { type: "text" | "reasoning"; text: string };
type ScriptedCallPart = { type: "tool-call"; toolCallId: string; toolName: string; input: string };
export type ScriptedPart = SpokenPart | ScriptedCallPart;
export type ScriptedStreamPart =
  | { type: "stream-start"; warnings: [] }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-input-delta"; id: string; delta: string }
  | { type: "tool-input-end"; id: string }
  | ScriptedCallPart
  | ({ type: "finish" } & Pick<ScriptedAnswer, "finishReason" | "usage">);

/**
 * A language model of the AI SDK whose turns are written down, for `createAgent`, `generateText` and `streamText`; an Error is
 * thrown in its turn. Streams word by word, and the input of calls piece by piece.
 */
export function createScriptedLanguageModel(script: LanguageScript): ScriptedLanguageModel {
  const requests: LanguageModelRequest[] = [];
  const next = async (options: unknown): Promise<ScriptedAnswer> => {
    const request = options as LanguageModelRequest;
    const turn = script[requests.length];
    requests.push(request);
    request.abortSignal?.throwIfAborted();
    if (turn === undefined)
      throw new Error(`The script has ${script.length} turns, but the model was asked once more.`);
    if (turn instanceof Error) throw turn;
    return generate(typeof turn === "function" ? await turn(request) : turn);
  };
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "model",
    supportedUrls: {},
    requests,
    doGenerate: next,
    async doStream(options) {
      const { content, finishReason, usage, warnings } = await next(options);
      const parts: ScriptedStreamPart[] = [
        { type: "stream-start", warnings },
        ...content.flatMap(streamed),
        { type: "finish", finishReason, usage },
      ];
      return { stream: ReadableStream.from(parts) as ReadableStream<ScriptedStreamPart> };
    },
  };
}

function generate({ text, calls = [], reasoning, usage, finish = "stop" }: ScriptedLanguageTurn): ScriptedAnswer {
  const { inputTokens = 1, outputTokens = 1 } = usage ?? {};
  const content: ScriptedPart[] = calls.map(({ id, name, input = {} }) => ({
    type: "tool-call",
    toolCallId: id ?? nextCallId(),
    toolName: name,
    input: typeof input === "string" ? input : JSON.stringify(input),
  }));
  if (text) content.unshift({ type: "text", text });
  if (reasoning) content.unshift({ type: "reasoning", text: reasoning });
  return {
    content,
    finishReason: { unified: calls.length > 0 ? "tool-calls" : finish, raw: undefined },
    usage: {
      inputTokens: { total: inputTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: outputTokens, text: undefined, reasoning: undefined },
    },
    warnings: [],
  };
}

function streamed(part: ScriptedPart, at: number): ScriptedStreamPart[] {
  if (part.type === "tool-call") {
    const { toolCallId, toolName, input } = part;
    const pieces = input.match(/[^,]+,?/g) ?? [];
    return [
      { type: "tool-input-start", id: toolCallId, toolName },
      ...pieces.map((delta) => ({ type: "tool-input-delta" as const, id: toolCallId, delta })),
      { type: "tool-input-end", id: toolCallId },
      part,
    ];
  }
  const id = String(at);
  const words = part.text.match(/\S+\s*|\s+/g) ?? [];
  return [
    { type: `${part.type}-start`, id },
    ...words.map((delta) => ({ type: `${part.type}-delta` as const, id, delta })),
    { type: `${part.type}-end`, id },
  ];
}
