/**
 * A typed client of the HTTP API, for browsers and Node.
 *
 * @example
 * ```ts no-run: needs a server
 * import { createClient } from "haft/client";
 *
 * const client = createClient({ url: "http://127.0.0.1:4117", token: process.env["HAFT_TOKEN"] });
 * const result = await client.calls.execute({ tool: "read", input: { path: "README.md" } });
 * ```
 *
 * @module
 */
import { createHttpClient, type HttpClientOptions } from "./api/http-client.ts";
import { serveTools, type ServedTool, type ServeToolsOptions, type ServingTools } from "./api/serve-tools.ts";
import { type ApiClient, contracts } from "./contracts/index.ts";

export { ApiError } from "./contracts/errors.ts";
export type { ApiClient } from "./contracts/index.ts";
export type { HttpClientOptions } from "./api/http-client.ts";
export type { ServedTool, ServeToolsOptions, ServingTools } from "./api/serve-tools.ts";
/** The types of requests and responses: `api.JobInfo`. */
export type * as api from "./contracts/index.ts";

/** The whole API of a server. */
export interface HaftClient extends ApiClient {
  /** Brings tools that run in this program, over a WebSocket. It reconnects by itself. */
  serveTools(tools: readonly ServedTool[], options?: ServeToolsOptions): ServingTools;
}

/** Methods are named after the endpoints. Everything that fails is an `ApiError`. */
export function createClient(options: HttpClientOptions): HaftClient {
  return {
    ...createHttpClient(contracts, options),
    serveTools: (tools, toolOptions) => serveTools(options, tools, toolOptions),
  };
}
