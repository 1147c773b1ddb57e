import type { AnyTool } from "../../core/tool.ts";
import { createBase64DecodeTool } from "./base64-decode.ts";
import { createBase64EncodeTool } from "./base64-encode.ts";
import { createJsonParseTool } from "./json-parse.ts";
import { createJsonStringifyTool } from "./json-stringify.ts";

export function createDataTools(): AnyTool[] {
  return [createJsonParseTool(), createJsonStringifyTool(), createBase64EncodeTool(), createBase64DecodeTool()];
}
