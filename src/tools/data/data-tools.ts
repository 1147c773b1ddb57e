import type { AnyTool } from "../../core/tool.ts";
import { createBase64DecodeTool, createBase64EncodeTool } from "./base64-tools.ts";
import { createJsonParseTool, createJsonStringifyTool } from "./json-tools.ts";

export function createDataTools(): AnyTool[] {
  return [createJsonParseTool(), createJsonStringifyTool(), createBase64EncodeTool(), createBase64DecodeTool()];
}
