import type { HaftHost } from "../host.ts";
import { HttpError } from "../http/door-error.ts";
import { openTokenStore } from "../http/sql-token-store.ts";
import { issueToken, MemoryTokenStore, SCOPES, type StoredToken, type TokenStore } from "../http/tokens.ts";

export type TokenHost = Pick<HaftHost, "store" | "haft">;

/**
 * The tokens of a host. Those of this process alone (its own, and one that the configuration names) are kept in memory, and
 * the store is opened when somebody presents another one, or makes one.
 */
export function openTokens({ store, haft }: TokenHost): { own: MemoryTokenStore; all: TokenStore } {
  const own = new MemoryTokenStore();
  let opened: Promise<TokenStore> | undefined;
  const kept = (): Promise<TokenStore> => (opened ??= openTokenStore(store.database, haft.executor.clock.now()));
  const all: TokenStore = {
    add: async (token) => (await kept()).add(token),
    find: (hash) => own.find(hash) ?? kept().then((tokens) => tokens.find(hash)),
    remove: async (id) => (await kept()).remove(id),
    list: async () => (await kept()).list(),
  };
  return { own, all };
}

/** The tokens of a server, with the one that its configuration names. It opens everything, and only the configuration ends it. */
export async function openServerTokens(host: TokenHost, configured: string | undefined): Promise<TokenStore> {
  const { own, all } = openTokens(host);
  if (configured === undefined) return all;
  const { clock } = host.haft.executor;
  const { stored } = await issueToken(own, clock, { name: "configured", scopes: SCOPES, token: configured });
  const known = (await all.list()).find(({ hash }) => hash === stored.hash);
  if (known) throw duplicateToken(known);
  return {
    ...all,
    list: async () => [stored, ...(await all.list())],
    remove(id) {
      if (id !== stored.id) return all.remove(id);
      throw new HttpError(
        "conflict",
        "That token stands in the configuration, and would be back at the next start",
        "Remove `server.token` (or HAFT_SERVER_TOKEN) there, and start the server again.",
      );
    },
  };
}

/** As a configured one it would have every scope, and could not be revoked. */
function duplicateToken({ name, scopes }: StoredToken): Error {
  return new Error(
    `\`server.token\` is the token "${name}" of this folder's store, which has the scopes ${scopes.join(", ") || "none"}. ` +
      "It counts without being configured: remove it from the configuration (or HAFT_SERVER_TOKEN), or name another one.",
  );
}
