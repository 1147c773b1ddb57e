import type { TextPiece, TextCallingFormat } from "../agent/text-model.ts";
import type { DialectName } from "../core/tool.ts";
import { formatToolResult } from "../formats/text/format-tool-result.ts";
import { textFormat } from "../formats/text/format-table.ts";
import { generateToolInstruction } from "../formats/text/prompt-generator.ts";
import type { TextFormatName } from "../formats/text/text-format.ts";
import type { ToolCallEvent } from "../formats/text/tool-call-event.ts";
import { createToolCallParser } from "../formats/text/tool-call-parser.ts";
import { isObject } from "../schema/json-schema.ts";

export interface TextCallingOptions {
  format: TextFormatName;
  dialect?: DialectName | undefined;
}

/** Calls as text, in one of the formats. */
export function createTextCallingFormat({ format, dialect }: TextCallingOptions): TextCallingFormat {
  return {
    instruct: (tools) => generateToolInstruction(tools, { format, ...(dialect === undefined ? {} : { dialect }) }),
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
      return [event];
    case "call_completed":
    case "call_failed": {
      const { id, name, input, rawText, failure } = event.call;
      return [{ type: "call", id, name, input, rawText, ...(failure ? { failure } : {}) }];
    }
    default:
      return [];
  }
}
