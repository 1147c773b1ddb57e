import { z } from "zod";
import { Time } from "./basics.ts";
import { admin, anyone, authenticated, namedObject } from "./contract.ts";
import { Scope } from "./identity.ts";
import { Done } from "./server.ts";

/** The one-time token of a printed address, or a token of a program, exchanged for a cookie that scripts cannot read. */
export const LoginRequest = namedObject("LoginRequest", { token: z.string().min(1).max(512) });
export type LoginRequest = z.infer<typeof LoginRequest>;

/** The identity that the server has for this client. Conversations with agents are `AgentSessionInfo`. */
export const SessionInfo = namedObject("SessionInfo", {
  name: z.string(),
  scopes: z.array(Scope),
  kind: z.enum(["session", "token"]),
  expiresAt: Time.optional(),
});
export type SessionInfo = z.infer<typeof SessionInfo>;

/** Default scopes: those of the token that asks. */
export const LinkRequest = namedObject("LinkRequest", { scopes: z.array(Scope).min(1).max(4).optional() });
export type LinkRequest = z.infer<typeof LinkRequest>;

/** An address that signs a browser in, once. */
export const LoginLink = namedObject("LoginLink", { url: z.string(), scopes: z.array(Scope), expiresAt: Time });
export type LoginLink = z.infer<typeof LoginLink>;

export const session = {
  show: authenticated("GET /api/session", {
    summary: "Your name and scopes",
    output: SessionInfo,
  }),
  login: anyone("POST /api/session", {
    summary: "Exchange a one-time token, or a token that may read, for a session cookie",
    body: LoginRequest,
    output: SessionInfo,
  }),
  link: admin("POST /api/session/links", {
    summary: "Create an address that signs a browser in, once",
    body: LinkRequest,
    status: 201,
    output: LoginLink,
  }),
  logout: authenticated("DELETE /api/session", { summary: "End the session", output: Done }),
};
