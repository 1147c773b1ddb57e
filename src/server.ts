/**
 * Servers for a runtime: HTTP with the console, and MCP.
 *
 * @example
 * import { type Approval, describeApproval } from "haft";
 * import { openHaft } from "haft/host";
 * import { serveMcpStdio } from "haft/server";
 *
 * const host = await openHaft(".");
 * const serving = await serveMcpStdio(host.haft, {
 *   describe: (question) => describeApproval(question as Approval),
 * });
 * await serving.closed;
 * await host.close();
 *
 * @module
 */
export { serveHttp } from "./server/http-server.ts";
export type { HttpServer, HttpServerOptions } from "./server/http-server.ts";
export { createMcpHandler } from "./server/mcp-endpoint.ts";
export { createMcpEndpoint } from "./mcp/server/streamable-http.ts";
export type { McpEndpoint, McpEndpointOptions } from "./mcp/server/streamable-http.ts";
export { serveMcp, serveMcpStdio } from "./mcp/server/stdio-server.ts";
export type { McpServing, ServeMcpOptions } from "./mcp/server/stdio-server.ts";
export { issueToken } from "./store/tokens.ts";
