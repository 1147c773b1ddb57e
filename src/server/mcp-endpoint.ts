import type { McpResourceSource } from "../mcp/server/resources.ts";
import type { McpEndpoint } from "../mcp/server/streamable-http.ts";
import { describeApproval } from "../gate/permit/describe-approval.ts";
import type { Haft } from "../runtime.ts";
import type { ProtocolEndpoint } from "./http-server.ts";

export interface McpEndpointSettings {
  version: string;
  /** Where a person answers approvals that the client cannot show. */
  approvalAddress?(id: string): string | undefined;
  resources?: readonly McpResourceSource[];
  /** Lists a part of the tools if there are too many; clients find the others with tool_search. */
  defers?: boolean;
  /** Signs the state that clients hold. A stored key makes it valid after a restart and in other processes. */
  stateKey?(): Promise<Uint8Array>;
  onError?(error: Error): void;
}

/** The name of that key in a store. */
export const MCP_STATE_KEY = "mcp_request_state";

/** MCP at a path of the server: the same tools, for clients with a token. Loaded with the first request. */
export function createMcpHandler(haft: Haft, settings: McpEndpointSettings): ProtocolEndpoint {
  const { version, approvalAddress, resources = [], defers = false, stateKey, onError } = settings;
  let opening: Promise<McpEndpoint> | undefined;
  const open = async (): Promise<McpEndpoint> => {
    const { createMcpEndpoint } = await import("../mcp/server/streamable-http.ts");
    return createMcpEndpoint(haft, {
      describe: (question) => describeApproval(question as never),
      serverInfo: { name: "haft", title: "Haft", version },
      // The HTTP server has checked host and origin.
      hosts: "checked",
      resources,
      defers,
      stateKey: stateKey ? await stateKey() : undefined,
      approvalAddress,
      onError,
    });
  };
  return {
    async handle(incoming, outgoing, { id, name, scopes }) {
      const endpoint = await (opening ??= open());
      await endpoint.handle(incoming, outgoing, { identity: { id, name, rights: scopes } });
    },
    async close() {
      await (await opening)?.close();
    },
  };
}
