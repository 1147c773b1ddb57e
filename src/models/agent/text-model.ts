import { toolError, type ToolError, type ToolFailure } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { textFormat } from "../text/format-table.ts";
import { formatToolResult } from "../text/format-tool-result.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import { createToolCallParser, type ToolCallEvent } from "../text/tool-call-parser.ts";
import { writeToolInstructions } from "../text/tool-instructions.ts";
import type { AgentModel, Message, MessagePart, ModelDelta, ToolCallPart } from "./agent.ts";
import { modelIdOf, type ModelSettings } from "./function-model.ts";
import { callOptions, type LanguageModel, readGenerated, readStream } from "./language-model.ts";
import { partsOf, type PromptMessage, showImages, writeImage } from "./prompt.ts";

/** Writes and reads calls as text, for models without function calling. */
interface TextCallingFormat {
  /** The tools, and how to call them, for the system prompt. */
  instruct(tools: readonly AnyTool[]): string;
  writeCall(call: { name: string; input: unknown }): string;
  /** Nothing in the written result reads as a call. */
  writeResult(result: ToolResult, tools: readonly AnyTool[]): string;
  createReader(tools: readonly AnyTool[]): TextReader;
}

interface TextReader {
  push(chunk: string): TextPiece[];
  end(): TextPiece[];
  /** What the model should write differently next time. */
  warnings(): readonly string[];
}

type TextPiece =
  | ModelDelta
  /** The parts before it were reasoning. */
  | { type: "retracted" }
  | { type: "call"; id: string; name: string; input: unknown; rawText: string; failure?: ToolFailure };

/** A model that gets its tools in the system prompt and writes its calls as text. */
export function createTextModel(
  model: LanguageModel,
  format: TextCallingFormat,
  settings: ModelSettings = {},
): AgentModel {
  return {
    id: modelIdOf(model),
    async respond({ system, messages, tools, signal }, onDelta) {
      const instruction = tools.length > 0 ? format.instruct(tools) : "";
      const options = callOptions({
        ...settings,
        prompt: writeText([system, instruction].filter(Boolean).join("\n\n"), messages),
        abortSignal: signal,
      });
      const reader = format.createReader(tools);
      const parts: MessagePart[] = [];
      const unreadable = new Map<number, ToolError>();
      const take = (pieces: readonly TextPiece[]): void => {
        for (const piece of pieces) {
          if (piece.type === "retracted") {
            const text = parts.map(wordsOf).join("");
            parts.splice(0, parts.length, ...(text === "" ? [] : [{ type: "reasoning" as const, text }]));
            unreadable.clear();
            continue;
          }
          if (piece.type === "call") {
            const { id, name, input, rawText, failure } = piece;
            if (failure) unreadable.set(countCalls(parts), asError(failure));
            parts.push({ type: "tool_call", callId: id, name, input, rawText });
            continue;
          }
          onDelta?.(piece);
          const last = parts.at(-1);
          if (last?.type === piece.type) last.text += piece.text;
          else parts.push({ ...piece });
        }
      };
      const read = (piece: ModelDelta): void => (piece.type === "text" ? take(reader.push(piece.text)) : take([piece]));
      const turn = onDelta
        ? await readStream((await model.doStream(options)).stream, read)
        : readGenerated(await model.doGenerate(options));
      if (!onDelta) for (const part of turn.parts) if (part.type !== "tool-call") read(part);
      take(reader.end());
      const warnings = reader.warnings();
      return {
        parts,
        usage: turn.usage,
        finish: turn.finish,
        unreadable: unreadable.size > 0 ? unreadable : undefined,
        warnings: warnings.length > 0 ? warnings : undefined,
      };

      function writeText(systemText: string, conversation: readonly Message[]): PromptMessage[] {
        const prompt: PromptMessage[] = systemText === "" ? [] : [{ role: "system", content: systemText }];
        for (const message of conversation) {
          const version = model.specificationVersion;
          if (message.role === "tool") {
            const joined = message.results.map((result) => format.writeResult(result, tools)).join("\n");
            const images = message.results.flatMap((result) => showImages(result, { version }));
            prompt.push({ role: "user", content: [{ type: "text", text: joined }, ...images] });
            continue;
          }
          const words = partsOf(message).map(wordsOf).join("");
          const images = partsOf(message).flatMap((part) =>
            part.type === "image" ? [writeImage(part.data, part.mimeType, version)] : [],
          );
          if (message.role === "system") prompt.push({ role: "system", content: words });
          else if (words !== "" || images.length > 0) {
            const text = words === "" ? [] : [{ type: "text", text: words }];
            prompt.push({ role: message.role, content: [...text, ...images] });
          }
        }
        return prompt;
      }
    },
  };

  /** Reasoning is not sent back: the chat template of the model has no slot for it. */
  function wordsOf(part: MessagePart): string {
    if (part.type === "text") return part.text;
    return part.type === "tool_call" ? (part.rawText ?? format.writeCall(part)) : "";
  }
}

function countCalls(parts: readonly MessagePart[]): number {
  return parts.filter((part): part is ToolCallPart => part.type === "tool_call").length;
}

function asError({ code, message, next, data }: ToolFailure): ToolError {
  return toolError(code, message, { next, data });
}

interface TextCallingOptions {
  format: TextFormatName;
  dialect?: DialectName | undefined;
}

/** Calls as text, in one of the formats. */
export function createTextCallingFormat({ format, dialect }: TextCallingOptions): TextCallingFormat {
  return {
    instruct: (tools) => writeToolInstructions(tools, { format, dialect }),
    writeCall: ({ name, input }) => textFormat(format).write([{ name, input: isObject(input) ? input : {} }]),
    writeResult: (result, tools) => formatToolResult(result.toolName, result, { format, tools }),
    createReader(tools) {
      const parser = createToolCallParser({ format, tools });
      return {
        push: (chunk) => parser.push(chunk).flatMap(toPieces),
        end: () => parser.end().flatMap(toPieces),
        warnings: () => parser.result.warnings,
      };
    },
  };
}

function toPieces(event: ToolCallEvent): TextPiece[] {
  switch (event.type) {
    case "text":
    case "reasoning":
    case "retracted":
      return [event];
    case "call_completed":
    case "call_failed": {
      const { id, name, input, rawText, failure } = event.call;
      return [{ type: "call", id, name, input, rawText, failure }];
    }
    default:
      return [];
  }
}
