import type { Handlers } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import type { Contracts } from "../contracts/index.ts";
import type { TokenInfo } from "../contracts/tokens.ts";
import type { Clock } from "../core/clock.ts";
import { issueToken, openTokensOnUse, type StoredToken, type TokenStore } from "../store/tokens.ts";
import { type ApiServices, defineCapability } from "./capability.ts";

/** The tokens by which clients are authenticated over HTTP. */
export const tokens = defineCapability({
  name: "tokens",
  config: [],
  needs: ["store"],
  open({ clock, store }) {
    const value = openTokensOnUse(store.database, clock);
    return { value, api: ({ record }) => ({ tokens: createTokensApi({ tokens: value, clock, record }) }) };
  },
});

export interface TokensApiOptions {
  tokens: TokenStore;
  clock: Clock;
  record?: ApiServices["record"];
}

export function createTokensApi({ tokens: all, clock, record }: TokensApiOptions): Handlers<Contracts["tokens"]> {
  return {
    async list() {
      const stored = await all.list();
      return { items: stored.filter(({ kind }) => kind !== "login").map(infoOf) };
    },
    async create({ body, identity: { name: by } }) {
      const { name, scopes, expiresInMs } = body;
      const data = { action: "credential_created", by, name, scopes, expiresInMs };
      await record?.({ kind: "config_changed", caller: { user: by }, data });
      const { token, stored } = await issueToken(all, clock, body);
      return { ...infoOf(stored), token };
    },
    async rotate({ params: { id }, identity: { name: by } }) {
      const old = (await all.list()).find((token) => token.id === id && token.kind === "token");
      if (!old) throw new ApiError("not_found", "There is no such token", "`haft token list` shows the ids.");
      const { name, scopes, createdAt, expiresAt } = old;
      const expiresInMs = expiresAt === undefined ? undefined : expiresAt - createdAt;
      await record?.({
        kind: "config_changed",
        caller: { user: by },
        data: { action: "credential_rotated", by, id, name },
      });
      // The old one first: of two rotations at the same time, one gets a new token.
      if (!(await all.remove(id))) throw new ApiError("not_found", "There is no such token");
      const { token, stored } = await issueToken(all, clock, { name, scopes, expiresInMs });
      return { ...infoOf(stored), token };
    },
    async revoke({ params: { id }, identity: { name: by } }) {
      const name = (await all.list()).find((token) => token.id === id)?.name;
      if (!(await all.remove(id))) throw new ApiError("not_found", "There is no such token");
      // Recorded afterwards: a revoked token must not stay valid because the record failed.
      const data = { action: "credential_revoked", by, id, name };
      await record?.({ kind: "config_changed", caller: { user: by }, data });
      return { status: "ok" };
    },
  };
}

function infoOf({ id, name, scopes, kind, createdAt, expiresAt }: StoredToken): TokenInfo {
  return { id, name, scopes: [...scopes], kind: kind === "session" ? kind : "token", createdAt, expiresAt };
}
