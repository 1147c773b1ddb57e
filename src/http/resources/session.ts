import type { ApiContext } from "../door.ts";
import { wrongToken } from "../identify.ts";
import { json, type Resource, route } from "../route.ts";
import { findToken, issueToken } from "../tokens.ts";
import type { SessionInfo } from "../wire.ts";

const DAY = 86_400_000;
const SESSION_MS = 7 * DAY;

/** The console's login: the one-time token of the printed address becomes a cookie that no script can read. */
export const session: Resource<ApiContext> = {
  path: "/api/session",
  routes: (api) => [
    route("GET /api/session", {
      summary: "Who the server takes you for",
      scope: "identified",
      answers: "SessionInfo",
      handle({ identity: { name, scopes, kind, expiresAt } }) {
        const info: SessionInfo = { name, scopes: [...scopes], kind };
        return json(expiresAt === undefined ? info : { ...info, expiresAt });
      },
    }),
    route("POST /api/session", {
      summary: "Exchange a one-time token for a session cookie",
      scope: "anybody",
      body: "LoginRequest",
      answers: "SessionInfo",
      async handle({ body, incoming }) {
        const { tokens, clock, limit } = api;
        const login = await findToken(tokens, clock, body.token, "login");
        // Of several who present it at once, one is told true.
        if (!login || !(await tokens.remove(login.id))) {
          throw wrongToken(limit.failed(incoming.socket.remoteAddress ?? ""));
        }
        const { name, scopes } = login;
        await api.parts.onAuditFact?.({
          kind: "note",
          caller: { user: name },
          data: { action: "login", by: name, scopes },
        });
        const { token, stored } = await issueToken(tokens, clock, {
          name,
          scopes,
          kind: "session",
          expiresInMs: SESSION_MS,
        });
        const info: SessionInfo = { name, scopes: [...scopes], kind: "session", expiresAt: stored.expiresAt! };
        return json(info, 200, { "set-cookie": cookie(api, token, SESSION_MS) });
      },
    }),
    route("DELETE /api/session", {
      summary: "End the session",
      scope: "identified",
      answers: [{ status: 200, shape: "Health" }],
      async handle({ identity }) {
        if (identity.kind === "session") await api.tokens.remove(identity.id);
        return json({ status: "ok" }, 200, { "set-cookie": cookie(api, "", 0) });
      },
    }),
  ],
};

function cookie({ cookieName, secure }: ApiContext, value: string, forMs: number): string {
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(forMs / 1000)}`;
  return `${cookieName}=${value}; ${flags}${secure ? "; Secure" : ""}`;
}
