export type ClientSdk = typeof import("@modelcontextprotocol/client");

let loaded: Promise<ClientSdk> | undefined;

/** Loaded by the first connection: most programs that import Haft speak to no server. */
export function loadClientSdk(): Promise<ClientSdk> {
  return (loaded ??= import("@modelcontextprotocol/client"));
}
