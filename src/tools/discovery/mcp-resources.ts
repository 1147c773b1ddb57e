import { z } from "zod";
import { errorMessage, toolError } from "../../core/error.ts";
import { ToolCategory } from "../../core/category.ts";
import { type Content, text } from "../../core/content.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createResourceTools(servers: ResourceServers): AnyTool[] {
  return [createListMcpResourcesTool(servers), createReadMcpResourceTool(servers)];
}

/** The MCP servers whose resources can be listed and read. Hidden characters in their texts are escaped. */
export interface ResourceServers {
  /** The servers that are connected now. */
  names(): readonly string[];
  /** Whether the host trusts it; reading its resources then needs no approval. */
  isTrusted(server: string): boolean;
  list(server: string, signal: AbortSignal): Promise<{ resources: ListedResource[]; templates: ListedTemplate[] }>;
  read(server: string, uri: string, signal: AbortSignal): Promise<ResourceContent[]>;
}

interface ListedResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** A URI template (RFC 6570). */
interface ListedTemplate extends Omit<ListedResource, "uri" | "size"> {
  uriTemplate: string;
}

/** `blob` is base64. */
interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

const MAX_LISTED = 500;

interface Listing {
  resources: ({ server: string } & ListedResource)[];
  templates: ({ server: string } & ListedTemplate)[];
  /** Servers that failed, and why. */
  failed: { server: string; reason: string }[];
  more?: number;
}

function createListMcpResourcesTool(servers: ResourceServers) {
  return createTool({
    name: "list_mcp_resources",
    title: "List MCP resources",
    description: {
      short: "Lists the resources of MCP servers: documents and data that read_mcp_resource reads by their URI.",
      usageNotes: ["Without `server`, lists all servers. A template is a URI with {placeholders} to fill in."],
      examples: [{ input: {} }, { input: { server: "docs" } }],
    },
    parameters: z.object({ server: z.string().max(200).optional().describe("Only this server") }),
    kind: "readonly",
    category: ToolCategory.MCP,
    tags: ["mcp", "resource", "document"],
    labels: ["untrusted_input"],
    idempotent: true,
    builtIn: {
      zh: { title: "列出 MCP 资源", short: "列出 MCP 服务器的资源：可用 read_mcp_resource 按 URI 读取的文档和数据。" },
      usesOtherTools: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput<Listing>({
      resources: field.list(field.object({ server: field.text(), uri: field.text(), name: field.text() })),
      templates: field.list(field.object({ server: field.text(), uriTemplate: field.text(), name: field.text() })),
      failed: field.list(field.object({ server: field.text(), reason: field.text() }), "Servers that failed"),
      "more?": field.integer("How many are left out"),
    }),
    signature: ({ server }) => server ?? "*",
    async run({ server }, { signal }): Promise<Listing> {
      const listing: Listing = { resources: [], templates: [], failed: [] };
      for (const name of server === undefined ? servers.names() : [server]) {
        try {
          const { resources, templates } = await servers.list(name, signal);
          listing.resources.push(...resources.map((resource) => ({ server: name, ...resource })));
          listing.templates.push(...templates.map((template) => ({ server: name, ...template })));
        } catch (error) {
          // A failure of one server does not affect the others.
          if (server !== undefined || signal.aborted) throw error;
          listing.failed.push({ server: name, reason: errorMessage(error) });
        }
      }
      return cut(listing);
    },
  });
}

function cut(listing: Listing): Listing {
  const left = listing.resources.length + listing.templates.length - MAX_LISTED;
  if (left <= 0) return listing;
  const resources = listing.resources.slice(0, MAX_LISTED);
  return { ...listing, resources, templates: listing.templates.slice(0, MAX_LISTED - resources.length), more: left };
}

function createReadMcpResourceTool(servers: ResourceServers) {
  return createTool({
    name: "read_mcp_resource",
    title: "Read an MCP resource",
    description: {
      short: "Reads a resource of an MCP server by its URI.",
      usageNotes: ["URIs come from list_mcp_resources, or from a resource link in a tool result."],
      examples: [{ input: { server: "docs", uri: "docs://guide/start" } }],
    },
    parameters: z.object({
      server: z.string().min(1).max(200).describe("The name of the server"),
      uri: z.string().min(1).max(4096).describe("The URI of the resource"),
    }),
    kind: "readonly",
    category: ToolCategory.MCP,
    tags: ["mcp", "resource", "document"],
    // The URI can leak data to the server.
    labels: ["untrusted_input", "outside_effect"],
    idempotent: true,
    builtIn: {
      zh: { title: "读取 MCP 资源", short: "按 URI 读取 MCP 服务器的一个资源。" },
      usesOtherTools: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      server: field.text(),
      uri: field.text(),
      contents: field.list(
        field.object({ uri: field.text(), "mimeType?": field.text() }),
        "What the content blocks are",
      ),
    }),
    permission: ({ server }) => (servers.isTrusted(server) ? "auto" : "confirm"),
    signature: ({ server, uri }) => `${server} ${uri}`,
    preview: async ({ server, uri }) => {
      const names = servers.names();
      if (!names.includes(server)) {
        throw toolError("invalid_input", `There is no connected MCP server ${JSON.stringify(server)}.`, {
          next: `There are: ${names.join(", ") || "none"}.`,
        });
      }
      return { title: "Read an MCP resource", content: [text(`${server}: ${uri}`)] };
    },
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
  if (body !== undefined) return text(disarmText(body));
  const data = blob ?? "";
  if (mimeType?.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType?.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri, blob: data, mimeType } };
}
