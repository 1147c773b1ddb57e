export type ServerSdk = typeof import("@modelcontextprotocol/server");

let loaded: Promise<ServerSdk> | undefined;

/** Loaded when the first client is served: most programs that import Haft serve none. */
export function loadServerSdk(): Promise<ServerSdk> {
  return (loaded ??= import("@modelcontextprotocol/server"));
}
