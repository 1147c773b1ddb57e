import { z } from "zod";
import { Name, page, Time } from "./basics.ts";
import { admin, named, namedObject } from "./contract.ts";
import { Scope } from "./identity.ts";
import { Done } from "./server.ts";

export const TokenInfo = namedObject("TokenInfo", {
  id: z.string(),
  name: z.string(),
  scopes: z.array(Scope),
  /** `session`: a browser that is signed in. */
  kind: z.enum(["token", "session"]),
  createdAt: Time,
  expiresAt: Time.optional(),
});
export type TokenInfo = z.infer<typeof TokenInfo>;

/** The only response that has the token itself. */
export const NewToken = named("NewToken", TokenInfo.extend({ token: z.string() }));
export type NewToken = z.infer<typeof NewToken>;

const TEN_YEARS_MS = 3_650 * 86_400_000;

export const TokenRequest = namedObject("TokenRequest", {
  name: Name,
  scopes: z.array(Scope).min(1).max(4),
  expiresInMs: z.number().int().min(1000).max(TEN_YEARS_MS).optional(),
});
export type TokenRequest = z.infer<typeof TokenRequest>;

export const tokens = {
  list: admin("GET /api/tokens", {
    summary: "The tokens of programs, without the tokens themselves, and the browsers that are signed in",
    output: page("TokenPage", TokenInfo),
  }),
  create: admin("POST /api/tokens", {
    summary: "Create a token; this response is the only one that has it",
    body: TokenRequest,
    status: 201,
    output: NewToken,
  }),
  rotate: admin("POST /api/tokens/{id}/rotate", {
    summary: "Replace a token by a new one with the same name, scopes and lifetime; the old one ends at once",
    status: 201,
    output: NewToken,
  }),
  revoke: admin("DELETE /api/tokens/{id}", { summary: "Revoke a token, or sign a browser out", output: Done }),
};
