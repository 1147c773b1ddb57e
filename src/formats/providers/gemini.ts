import type { ToolResult } from "../../core/result.ts";
import { GEMINI_RULES } from "../schema-rules.ts";
import { answerCalls, blockText } from "./answer-calls.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type GeminiSchema, toGeminiSchema } from "./gemini-schema.ts";
import { type CallReader, type ModelCall, RawCalls, type ReadOptions, toModelCalls } from "./model-call.ts";
import { type PartialArgument, putArgument } from "./put-argument.ts";

export interface GeminiFunction {
  name: string;
  description: string;
  /** Absent where a tool takes none: an object without properties is refused. */
  parameters?: GeminiSchema;
  /** In place of `parameters`, with `rich`. */
  parametersJsonSchema?: unknown;
}

/** For `config.tools`, as `[{ functionDeclarations: tools }]`. Gemini does not enforce schemas. */
export function toGeminiTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<GeminiFunction> {
  return defineTools(tools, { ...options, strict: false }, { rules: GEMINI_RULES }, ({ name, description, schema }) => {
    if (options.rich) return { name, description, parametersJsonSchema: schema };
    const parameters = toGeminiSchema(schema);
    const isEmpty = Object.keys(parameters.properties ?? {}).length === 0;
    return { name, description, ...(isEmpty ? {} : { parameters }) };
  });
}

interface GeminiCall {
  id?: string;
  name?: string;
  args?: Record<string, unknown>;
  partialArgs?: readonly PartialArgument[];
  willContinue?: boolean;
}

/** The part of a response, whole or one of a stream, that holds calls. */
export interface GeminiResponse {
  candidates?: readonly { content?: { parts?: readonly { functionCall?: GeminiCall }[] } }[];
}

function callsIn(response: GeminiResponse): GeminiCall[] {
  return (response.candidates?.[0]?.content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
}

export function readGeminiCalls(response: GeminiResponse, options: ReadOptions = {}): ModelCall[] {
  return toModelCalls(
    callsIn(response).map(({ id, name, args }) => ({ id, name, arguments: args })),
    options,
  );
}

/** Calls come whole, one or several a chunk, unless their arguments were asked to be streamed. */
export function createGeminiReader(options: ReadOptions = {}): CallReader<GeminiResponse> {
  const raw = new RawCalls(options);
  let growing: number | undefined;
  return {
    push(response) {
      for (const { id, name, args, partialArgs = [], willContinue } of callsIn(response)) {
        const slot: number = growing ?? raw.size;
        const call = raw.at(slot);
        if (id) call.id = id;
        if (name) call.name = name;
        if (args) call.data = args;
        for (const part of partialArgs) call.data = putArgument(call.data ?? {}, part);
        growing = willContinue ? slot : undefined;
      }
    },
    calls: () => raw.calls(),
  };
}

type GeminiPart =
  | { functionResponse: { id?: string; name: string; response: { output: string } | { error: string } } }
  | { text: string }
  | { inlineData: { mimeType: string; data: string } };

export interface GeminiContent {
  role: "user";
  parts: GeminiPart[];
}

/** One content. Images and sounds stand behind the answers, where every Gemini model takes them. */
export function toGeminiContents(calls: readonly ModelCall[], results: readonly ToolResult[]): GeminiContent[] {
  if (calls.length === 0) return [];
  const answers = answerCalls(calls, results);
  const parts: GeminiPart[] = [];
  const media: GeminiPart[] = [];
  for (const { call, id, name, isError, content } of answers) {
    let count = 0;
    const joined = content.map((block) => {
      if (block.type !== "image" && block.type !== "audio") return blockText(block);
      media.push({ text: `${block.type} ${++count} of ${name}:` });
      media.push({ inlineData: { mimeType: block.mimeType, data: block.data } });
      return `(${block.type} ${count} of ${name} follows)`;
    });
    const output = joined.join("\n");
    // An id that Gemini did not give means nothing to it: there answers are matched by name and order.
    const given = call.shown?.id === undefined ? { id } : {};
    parts.push({ functionResponse: { ...given, name, response: isError ? { error: output } : { output } } });
  }
  return [{ role: "user", parts: [...parts, ...media] }];
}
