// The servers as a library: `import { serveHttp } from "haft/server"`.

export { serveHttp } from "./server/http-server.ts";
export type { HttpServer, HttpServerOptions } from "./server/http-server.ts";
export { createMcpHandler } from "./server/mcp-endpoint.ts";
export { createMcpEndpoint } from "./mcp/server/streamable-http.ts";
export type { McpEndpoint, McpEndpointOptions } from "./mcp/server/streamable-http.ts";
export { serveMcp, serveMcpStdio } from "./mcp/server/stdio-server.ts";
export type { McpServing, ServeMcpOptions } from "./mcp/server/stdio-server.ts";
