// The doors as a library: `import { serveHttp } from "haft/server"`.

export { serveHttp } from "./http/http-server.ts";
export type { HttpServer, HttpServerOptions } from "./http/http-server.ts";
export { capabilitiesOfHost } from "./http/parts/parts-of-host.ts";
export { createMcpHandler } from "./http/mcp-endpoint.ts";
export { createMcpEndpoint } from "./mcp/server/streamable-http.ts";
export type { McpEndpoint, McpEndpointOptions } from "./mcp/server/streamable-http.ts";
export { serveMcp, serveMcpStdio } from "./mcp/server/stdio-server.ts";
export type { McpServing, ServeMcpOptions } from "./mcp/server/stdio-server.ts";
