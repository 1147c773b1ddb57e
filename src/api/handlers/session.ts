import type { Handlers } from "../../contracts/contract.ts";
import { requireScope, type Scope } from "../../contracts/identity.ts";
import type { LoginLink, session as contract } from "../../contracts/session.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { Clock } from "../../core/clock.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import {
  findToken,
  issueToken,
  type NewTokenOptions,
  parentOf,
  type StoredToken,
  type TokenStore,
} from "../../store/tokens.ts";

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
  /** Of the console, without a fragment. */
  url(): string;
  record?(fact: AuditFact): Promise<void>;
}

/** The login of the console: a token is exchanged for a cookie that scripts cannot read. */
export function createSessionApi(options: SessionApiOptions): Handlers<typeof contract> {
  const { tokens, clock, wrongToken, url, record } = options;
  return {
    show: ({ identity: { name, scopes, kind, expiresAt } }) => ({ name, scopes, kind, expiresAt }),
    async login({ body, remoteAddress, setHeader }) {
      const link = await findToken(tokens, clock, body.token, "login");
      const presented = link ?? (await findToken(tokens, clock, body.token, "token"));
      if (!presented) throw wrongToken(remoteAddress);
      const { id, name, scopes } = presented;
      requireScope({ id, name, scopes, kind: "token" }, "read", "The console");
      const parent = link ? parentOf(id) : id;
      const source = link && parent !== undefined ? await listedToken(tokens, parent) : presented;
      // A link is valid once: if several clients send it at the same time, one of them removes it.
      if (!source || (link && !(await tokens.remove(id)))) throw wrongToken(remoteAddress);
      await record?.({ kind: "note", caller: { user: name }, data: { action: "login", by: name, scopes } });
      // The session of a token has at most its scopes, and ends with it. Some links are not made with a token.
      const endsAt = parent === undefined ? Infinity : (source.expiresAt ?? Infinity);
      const expiresInMs = Math.min(SESSION_MS, endsAt - clock.now());
      const issued = await issueToken(tokens, clock, { name, scopes, kind: "session", expiresInMs, parent });
      setHeader("set-cookie", cookie(options, issued.token, expiresInMs));
      return { name, scopes, kind: "session", expiresAt: issued.stored.expiresAt };
    },
    async link({ body, identity }) {
      const { name } = identity;
      const wanted = body.scopes ?? identity.scopes;
      for (const scope of wanted) requireScope(identity, scope, "A link for it");
      const token = identity.kind === "session" ? parentOf(identity.id) : identity.id;
      // The token of the local user is not listed. It ends with the server, and sessions of its links do not.
      const issuer = token === undefined ? undefined : await listedToken(tokens, token);
      const created = await createLoginLink({ tokens, clock, url: url() }, { name, scopes: wanted, issuer });
      await record?.({
        kind: "note",
        caller: { user: name },
        data: { action: "login_link", by: name, scopes: wanted },
      });
      return created;
    },
    async logout({ identity, setHeader }) {
      if (identity.kind === "session") await tokens.remove(identity.id);
      setHeader("set-cookie", cookie(options, "", 0));
      return { status: "ok" };
    },
  };
}

const LINK_MS = 10 * 60_000;

/**
 * A token of the kind `login` in an address. After the #: it is not sent with the request for the page, and is in no log.
 * The link and its session end with the issuer.
 */
export async function createLoginLink(
  { tokens, clock, url }: { tokens: TokenStore; clock: Clock; url: string },
  { name, scopes, issuer }: { name: string; scopes: readonly Scope[]; issuer?: StoredToken },
): Promise<LoginLink> {
  if (!scopes.includes("read")) {
    throw new ApiError("bad_request", 'A link needs the scope "read": the console reads', "Add it to the scopes.");
  }
  const expiresInMs = Math.min(LINK_MS, (issuer?.expiresAt ?? Infinity) - clock.now());
  const link: NewTokenOptions = { name, scopes, kind: "login", expiresInMs, parent: issuer?.id };
  const { token, stored } = await issueToken(tokens, clock, link);
  return { url: `${url}/#login=${token}`, scopes: [...stored.scopes], expiresAt: stored.expiresAt ?? clock.now() };
}

async function listedToken(tokens: TokenStore, id: string): Promise<StoredToken | undefined> {
  return (await tokens.list()).find((token) => token.id === id);
}

function cookie({ cookieName, isSecure }: SessionApiOptions, value: string, forMs: number): string {
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(forMs / 1000)}`;
  return `${cookieName()}=${value}; ${flags}${isSecure ? "; Secure" : ""}`;
}
