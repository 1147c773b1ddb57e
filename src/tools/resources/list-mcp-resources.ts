import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ListedResource, ListedTemplate, ResourceServers } from "./resource-servers.ts";

const MAX_LISTED = 500;

interface Listing {
  resources: ({ server: string } & ListedResource)[];
  templates: ({ server: string } & ListedTemplate)[];
  /** Servers that could not be asked, and why. */
  failed: { server: string; reason: string }[];
  more?: number;
}

export function createListMcpResourcesTool(servers: ResourceServers) {
  return createTool({
    name: "list_mcp_resources",
    title: "List MCP resources",
    description: {
      short: "Lists the resources of MCP servers: documents and data that read_mcp_resource reads by their address.",
      usageNotes: ["Without `server`, those of all servers. A template is an address with {places} to fill in."],
      examples: [{ input: {} }, { input: { server: "docs" } }],
    },
    parameters: z.object({ server: z.string().max(200).optional().describe("Of this server alone") }),
    kind: "readonly",
    category: ToolCategory.MCP,
    tags: ["mcp", "resource", "document"],
    labels: ["untrusted_input"],
    idempotent: true,
    origin: { type: "builtin" },
    signature: ({ server }) => server ?? "*",
    async run({ server }, { signal }): Promise<Listing> {
      const listing: Listing = { resources: [], templates: [], failed: [] };
      for (const name of server === undefined ? servers.names() : [server]) {
        try {
          const { resources, templates } = await servers.list(name, signal);
          listing.resources.push(...resources.map((resource) => ({ server: name, ...resource })));
          listing.templates.push(...templates.map((template) => ({ server: name, ...template })));
        } catch (error) {
          // One of several that fails takes no other with it.
          if (server !== undefined || signal.aborted) throw error;
          listing.failed.push({ server: name, reason: (error as Error).message });
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
