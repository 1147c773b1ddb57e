import { type Content, text, textOf } from "../../core/content.ts";
import { failureOf } from "../../core/error.ts";
import { firstLine } from "../../core/first-line.ts";
import type { ToolOutput } from "../../core/result.ts";
import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";
import { showHiddenCharacters } from "../../shell/hidden-characters.ts";
import type { MCPCallResult } from "./mcp-client.ts";

/** A server's answer in the three forms of ours: blocks for the model, one safe line for a person, data for a program. */
export function readResult(result: MCPCallResult): ToolOutput {
  const { content: blocks, structuredContent, isError } = result;
  const content = blocks.map(readBlock);
  if (content.length === 0 && structuredContent !== undefined) content.push(text(JSON.stringify(structuredContent)));
  const joined = textOf(content);
  const output: ToolOutput = {
    content,
    details: structuredContent === undefined ? joined : structuredContent,
    // A terminal would obey what stands in it.
    display: showHiddenCharacters(stripTerminalCodes(firstLine(joined))),
  };
  if (isError) output.error = failureOf("failed", joined || "The tool failed and did not say why.", "MCPToolError");
  return output;
}

export function readBlock(block: MCPCallResult["content"][number]): Content {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case "resource": {
      const { uri, mimeType } = block.resource;
      const body = "text" in block.resource ? { text: block.resource.text } : { blob: block.resource.blob };
      return { type: "resource", resource: { uri, ...(mimeType === undefined ? {} : { mimeType }), ...body } };
    }
    case "resource_link": {
      const { uri, name, title, description, mimeType } = block;
      return {
        type: "resource_link",
        uri,
        name,
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(mimeType === undefined ? {} : { mimeType }),
      };
    }
    default:
      return text(JSON.stringify(block));
  }
}
