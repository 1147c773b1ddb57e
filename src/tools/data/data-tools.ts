import type { AnyTool } from "../../core/tool.ts";
import { createBase64DecodeTool, createBase64EncodeTool } from "./base64-tools.ts";
import { createJsonParseTool, createJsonStringifyTool, type JsonSources } from "./json-tools.ts";

export function createDataTools(sources?: JsonSources): AnyTool[] {
  return [createJsonParseTool(sources), createJsonStringifyTool(), createBase64EncodeTool(), createBase64DecodeTool()];
}
