import type { Handlers } from "../../contracts/contract.ts";
import type { session as contract } from "../../contracts/session.ts";
import type { ApiError } from "../../contracts/errors.ts";
import type { Clock } from "../../core/clock.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import { findToken, issueToken, type TokenStore } from "../../store/tokens.ts";

const SESSION_MS = 7 * 86_400_000;

export interface SessionApiOptions {
  tokens: TokenStore;
  clock: Clock;
  /** Read for each request: it has the port, because browsers share cookies between the ports of a machine. */
  cookieName(): string;
  /** With TLS. */
  isSecure: boolean;
  /** Counts a wrong token of this address. */
  wrongToken(remoteAddress: string | undefined): ApiError;
  record?(fact: AuditFact): Promise<void>;
}

/** The login of the console: a one-time token is exchanged for a cookie that scripts cannot read. */
export function createSessionApi(options: SessionApiOptions): Handlers<typeof contract> {
  const { tokens, clock, wrongToken, record } = options;
  return {
    show: ({ identity: { name, scopes, kind, expiresAt } }) => ({ name, scopes, kind, expiresAt }),
    async login({ body, remoteAddress, setHeader }) {
      const login = await findToken(tokens, clock, body.token, "login");
      // If several clients send it at the same time, one of them removes it.
      if (!login || !(await tokens.remove(login.id))) throw wrongToken(remoteAddress);
      const { name, scopes } = login;
      await record?.({ kind: "note", caller: { user: name }, data: { action: "login", by: name, scopes } });
      const issued = await issueToken(tokens, clock, { name, scopes, kind: "session", expiresInMs: SESSION_MS });
      setHeader("set-cookie", cookie(options, issued.token, SESSION_MS));
      return { name, scopes, kind: "session", expiresAt: issued.stored.expiresAt };
    },
    async logout({ identity, setHeader }) {
      if (identity.kind === "session") await tokens.remove(identity.id);
      setHeader("set-cookie", cookie(options, "", 0));
      return { status: "ok" };
    },
  };
}

function cookie({ cookieName, isSecure }: SessionApiOptions, value: string, forMs: number): string {
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(forMs / 1000)}`;
  return `${cookieName()}=${value}; ${flags}${isSecure ? "; Secure" : ""}`;
}
