import type { HaftHost } from "../host.ts";
import { openTokenStore } from "../http/sql-token-store.ts";
import { MemoryTokenStore, type TokenStore } from "../http/tokens.ts";

/**
 * The tokens of a host. Those of this process alone (its own, and one that the configuration names) are kept in memory, and
 * the store is opened when somebody presents another one, or makes one.
 */
export function openTokens({ store, haft }: Pick<HaftHost, "store" | "haft">): {
  own: MemoryTokenStore;
  all: TokenStore;
} {
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
