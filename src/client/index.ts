// haft/client: a typed client of the HTTP door, for browsers and Node.
export { createClient, type HaftClient } from "./create-client.ts";
export { HaftClientError } from "./client-error.ts";
export type { ClientOptions } from "./connection.ts";
export type { EventOptions } from "./follow-events.ts";
export type * from "../http/wire.ts";
