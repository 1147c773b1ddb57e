// The parts of the MCP SDK that a server uses. Imported when the first client is served; the named list lets a bundler drop
// the rest.
export {
  createMcpHandler,
  hostHeaderValidationResponse,
  inputRequired,
  isJsonContentType,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  MissingRequiredClientCapabilityError,
  originValidationResponse,
  PARSE_ERROR,
  ProtocolError,
  ProtocolErrorCode,
  readRequestBody,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
export { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
