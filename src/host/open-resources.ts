import type { McpHub } from "../mcp/client/mcp-hub.ts";
import { shownResources, shownTemplates } from "../mcp/client/server-resources.ts";
import type { ResourceServers } from "../tools/discovery/mcp-resources.ts";

/** The servers of a hub, as the tools that read resources see them. */
export function openResources(hub: McpHub): ResourceServers {
  return {
    names: () => hub.status().flatMap(({ name, state }) => (state === "ready" ? [name] : [])),
    isTrusted: (server) => hub.status().some(({ name, trusted }) => name === server && trusted),
    async list(server) {
      const resources = shownResources(await hub.listResources(server));
      return { resources, templates: shownTemplates(await hub.listResourceTemplates(server)) };
    },
    async read(server, uri, signal) {
      const { contents } = await hub.readResource(server, uri, { signal });
      return contents.map(({ uri: address, mimeType, ...body }) => ({
        uri: address,
        mimeType,
        ...("text" in body ? { text: body.text } : { blob: body.blob }),
      }));
    },
  };
}
