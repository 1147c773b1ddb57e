import type { McpEndpoint } from "../mcp/server/mcp-endpoint.ts";
import { describeApproval } from "../policy/show-approval.ts";
import type { Haft } from "../runtime.ts";
import type { Endpoint } from "./http-server.ts";

export interface McpEndpointSettings {
  version: string;
  /** Where a person answers what a client cannot be asked. */
  approvalAddress?(id: string): string | undefined;
  onError?(error: Error): void;
}

/** MCP at a path of the server: the same tools, for clients with a token. Loaded with the first of them. */
export function createMcpDoor(haft: Haft, { version, approvalAddress, onError }: McpEndpointSettings): Endpoint {
  let opening: Promise<McpEndpoint> | undefined;
  const open = (): Promise<McpEndpoint> =>
    (opening ??= import("../mcp/server/mcp-endpoint.ts").then(({ createMcpEndpoint }) =>
      createMcpEndpoint(haft, {
        describe: (question) => describeApproval(question as never),
        serverInfo: { name: "haft", title: "Haft", version },
        // The server has looked at both.
        hosts: "checked",
        ...(approvalAddress ? { approvalAddress } : {}),
        ...(onError ? { onError } : {}),
      }),
    ));
  return {
    async handle(incoming, outgoing, { id, name, scopes }) {
      const endpoint = await open();
      await endpoint.handle(incoming, outgoing, { identity: { id, name, rights: scopes } });
    },
    async close() {
      await (await opening)?.close();
    },
  };
}
