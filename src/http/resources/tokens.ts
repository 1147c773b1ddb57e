import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";
import { issueToken, type StoredToken } from "../tokens.ts";
import type { NewToken, Page, TokenInfo } from "../wire.ts";

export const tokens: Resource<ApiContext> = {
  path: "/api/tokens",
  routes: ({ tokens: store, clock, parts: { onAuditFact } }) => [
    route("GET /api/tokens", {
      summary: "The tokens of programs, without the tokens themselves",
      scope: "admin",
      answers: "TokenPage",
      async handle() {
        const items = (await store.list()).filter(({ kind }) => kind === "token").map(infoOf);
        return json({ items } satisfies Page<TokenInfo>);
      },
    }),
    route("POST /api/tokens", {
      summary: "Make a token; it is shown this once",
      scope: "admin",
      body: "TokenRequest",
      answers: [{ status: 201, shape: "NewToken" }],
      async handle({ body, identity: { name: by } }) {
        const { name, scopes, expiresInMs } = body;
        const data = { action: "credential_created", by, name, scopes, expiresInMs };
        await onAuditFact?.({ kind: "config_changed", caller: { user: by }, data });
        const { token, stored } = await issueToken(store, clock, body);
        return json({ ...infoOf(stored), token } satisfies NewToken, 201);
      },
    }),
    route("DELETE /api/tokens/{id}", {
      summary: "Revoke a token",
      scope: "admin",
      answers: "Health",
      async handle({ params, identity: { name: by } }) {
        const id = params["id"]!;
        const name = (await store.list()).find((token) => token.id === id)?.name;
        if (!(await store.remove(id))) throw new HttpError("not_found", "There is no such token");
        // After it: what was revoked is not to stay in use because it could not be noted.
        const data = { action: "credential_revoked", by, id, name };
        await onAuditFact?.({ kind: "config_changed", caller: { user: by }, data });
        return json({ status: "ok" });
      },
    }),
  ],
};

function infoOf({ id, name, scopes, createdAt, expiresAt }: StoredToken): TokenInfo {
  const info: TokenInfo = { id, name, scopes: [...scopes], createdAt };
  return expiresAt === undefined ? info : { ...info, expiresAt };
}
