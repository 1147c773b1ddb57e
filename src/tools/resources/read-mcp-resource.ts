import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { type Content, text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { ResourceContent, ResourceServers } from "./resource-servers.ts";

export function createReadMcpResourceTool(servers: ResourceServers) {
  return createTool({
    name: "read_mcp_resource",
    title: "Read an MCP resource",
    description: {
      short: "Reads a resource of an MCP server by its address.",
      usageNotes: ["Addresses come from list_mcp_resources, or from a resource link in a tool's answer."],
      examples: [{ input: { server: "docs", uri: "docs://guide/start" } }],
    },
    parameters: z.object({
      server: z.string().min(1).max(200).describe("The server that has it"),
      uri: z.string().min(1).max(4096).describe("Its address"),
    }),
    kind: "readonly",
    category: ToolCategory.MCP,
    tags: ["mcp", "resource", "document"],
    // What is asked for can carry something out as well.
    labels: ["untrusted_input", "outside_effect"],
    idempotent: true,
    origin: { type: "builtin" },
    permission: ({ server }) => (servers.isTrusted(server) ? "auto" : "confirm"),
    signature: ({ server, uri }) => `${server} ${uri}`,
    async run({ server, uri }, { signal }): Promise<ToolOutput> {
      const contents = await servers.read(server, uri, signal);
      return {
        content: contents.length === 0 ? [text("The resource is empty.")] : contents.map(toContent),
        details: { server, uri, contents: contents.map(({ uri: address, mimeType }) => ({ uri: address, mimeType })) },
        display: `${server}: ${uri}`,
      };
    },
  });
}

function toContent({ uri, mimeType, text: body, blob }: ResourceContent): Content {
  if (body !== undefined) return text(body);
  const data = blob ?? "";
  if (mimeType?.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType?.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri, blob: data, ...(mimeType === undefined ? {} : { mimeType }) } };
}
