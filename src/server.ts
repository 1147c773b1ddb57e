// The doors as a library: `import { serveHttp } from "haft/server"`.

export { serveHttp } from "./http/http-server.ts";
export type { HttpServer, HttpServerOptions } from "./http/http-server.ts";
export { partsOfHost } from "./http/parts/parts-of-host.ts";
