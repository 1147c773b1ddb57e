import type { McpResourceSource } from "../mcp/server/resources.ts";
import type { McpEndpoint } from "../mcp/server/streamable-http.ts";
import { describeApproval } from "../gate/permit/describe-approval.ts";
import type { Haft } from "../runtime.ts";
import type { Endpoint } from "./http-server.ts";

export interface McpEndpointSettings {
  version: string;
  /** Where a person answers what a client cannot be asked. */
  approvalAddress?(id: string): string | undefined;
  resources?: readonly McpResourceSource[];
  /** Where tools are too many, clients list a part of them, and find the others. */
  defers?: boolean;
  /** What clients are given to hold is signed with it; kept, it still counts after a restart and in other processes. */
  stateKey?(): Promise<Uint8Array>;
  onError?(error: Error): void;
}

/** The purpose of that key in a store. */
export const MCP_STATE_KEY = "mcp_request_state";

/** MCP at a path of the server: the same tools, for clients with a token. Loaded with the first of them. */
export function createMcpHandler(haft: Haft, settings: McpEndpointSettings): Endpoint {
  const { version, approvalAddress, resources = [], defers = false, stateKey, onError } = settings;
  let opening: Promise<McpEndpoint> | undefined;
  const open = async (): Promise<McpEndpoint> => {
    const { createMcpEndpoint } = await import("../mcp/server/streamable-http.ts");
    return createMcpEndpoint(haft, {
      describe: (question) => describeApproval(question as never),
      serverInfo: { name: "haft", title: "Haft", version },
      // The server has looked at both.
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
