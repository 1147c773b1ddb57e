import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { TokenInfo, tokens as contract } from "../../contracts/tokens.ts";
import type { Clock } from "../../core/clock.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import { issueToken, type StoredToken, type TokenStore } from "../../store/tokens.ts";

export interface TokensApiOptions {
  tokens: TokenStore;
  clock: Clock;
  record?(fact: AuditFact): Promise<void>;
}

export function createTokensApi({ tokens, clock, record }: TokensApiOptions): Handlers<typeof contract> {
  return {
    async list() {
      const all = await tokens.list();
      return { items: all.filter(({ kind }) => kind === "token").map(infoOf) };
    },
    async create({ body, identity: { name: by } }) {
      const { name, scopes, expiresInMs } = body;
      const data = { action: "credential_created", by, name, scopes, expiresInMs };
      await record?.({ kind: "config_changed", caller: { user: by }, data });
      const { token, stored } = await issueToken(tokens, clock, body);
      return { ...infoOf(stored), token };
    },
    async revoke({ params: { id }, identity: { name: by } }) {
      const name = (await tokens.list()).find((token) => token.id === id)?.name;
      if (!(await tokens.remove(id))) throw new ApiError("not_found", "There is no such token");
      // Recorded afterwards: a revoked token must not stay valid because the record failed.
      const data = { action: "credential_revoked", by, id, name };
      await record?.({ kind: "config_changed", caller: { user: by }, data });
      return { status: "ok" };
    },
  };
}

function infoOf({ id, name, scopes, createdAt, expiresAt }: StoredToken): TokenInfo {
  return { id, name, scopes: [...scopes], createdAt, expiresAt };
}
