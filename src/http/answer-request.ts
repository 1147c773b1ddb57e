import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { OriginPolicy } from "./allowed-places.ts";
import { HttpError, toRefusal } from "./door-error.ts";
import { type Identify, type Identity, requireScope } from "./identify.ts";
import { logLine } from "./log-line.ts";
import { checkShape, readJson } from "./read-body.ts";
import { readQuery } from "./read-query.ts";
import { type HandlerResult, type Route, HANDLED } from "./route.ts";
import { API_HEADERS } from "./security-headers.ts";

export interface ResponderOptions {
  identify: Identify;
  originPolicy: () => OriginPolicy;
  maxBodyBytes: number;
  log: (line: string) => void;
}

/** Nobody: for routes that need no token. */
const NOBODY: Identity = { id: "", name: "", scopes: [], kind: "token", hash: "" };

export type Refuse = (incoming: IncomingMessage, outgoing: ServerResponse, thrown: unknown) => void;

/** The one way from a request to the handler of its route, and back. Never rejects. */
export function createResponder({ identify, originPolicy, maxBodyBytes, log }: ResponderOptions) {
  return { answer, refuse };

  async function answer(
    route: Route,
    params: Readonly<Record<string, string>>,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    try {
      const identity = await authenticate(route, incoming);
      checkText(Object.values(params));
      const body =
        route.body === undefined ? undefined : await checkShape(route.body, await readJson(incoming, maxBodyBytes));
      const context = {
        params,
        query: readQuery(incoming.url ?? "", route.query),
        body: body as never,
        identity,
        incoming,
        outgoing,
      };
      const answered = route.handle(context);
      write(incoming, outgoing, answered instanceof Promise ? await answered : answered);
    } catch (thrown) {
      refuse(incoming, outgoing, thrown);
    }
  }

  async function authenticate(route: Route, incoming: IncomingMessage): Promise<Identity> {
    if (route.scope === "anybody") return NOBODY;
    const { headers } = incoming;
    const identity = await identify({ headers, address: incoming.socket.remoteAddress ?? "" });
    if (identity.kind === "session") checkOwnPage(incoming);
    if (route.scope !== "identified") requireScope(identity, route.scope, `${route.method} ${route.path}`);
    return identity;
  }

  /** A browser sends its cookie whoever made it ask; what changes something must come from the console itself. */
  function checkOwnPage({ method, headers: { origin, "sec-fetch-site": site } }: IncomingMessage): void {
    if (method === "GET" || method === "HEAD") return;
    if (origin === undefined ? site === "same-origin" : originPolicy().ownOrigins.has(origin)) return;
    throw new HttpError(
      "forbidden",
      "With a session, changes are accepted from the console alone",
      "Use a bearer token.",
    );
  }

  function refuse(incoming: IncomingMessage, outgoing: ServerResponse, thrown: unknown): void {
    const { status, answer, headers, isOurs } = toRefusal(thrown);
    logRefusal(log, incoming, status, isOurs ? thrown : answer.error.message);
    if (outgoing.headersSent) outgoing.destroy();
    else write(incoming, outgoing, { json: answer, status, headers });
  }

  function write(incoming: IncomingMessage, outgoing: ServerResponse, answer: HandlerResult): void {
    if (answer === HANDLED || outgoing.destroyed) return;
    const text = "json" in answer ? JSON.stringify(answer.json) : answer.text;
    outgoing.writeHead("status" in answer ? (answer.status ?? 200) : 200, {
      ...API_HEADERS,
      ...crossOrigin(incoming, originPolicy()),
      "content-type": "json" in answer ? "application/json" : answer.mediaType,
      "content-length": Buffer.byteLength(text),
      ...answer.headers,
    });
    outgoing.end(text);
  }
}

/** No store keeps a text with it, and some fail when they are asked for one. */
function checkText(texts: readonly string[]): void {
  if (texts.some((text) => text.includes("\0"))) throw new HttpError("bad_request", "The address has a NUL character");
}

/** For pages that the host allowed: they may read, with a token of their own and never with the cookie. */
export function crossOrigin({ headers }: IncomingMessage, { otherOrigins }: OriginPolicy): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !otherOrigins.has(origin)) return {};
  return { "access-control-allow-origin": origin, vary: "origin", "cross-origin-resource-policy": "cross-origin" };
}

export function logRefusal(log: (line: string) => void, incoming: IncomingMessage, status: number, why: unknown): void {
  const reason = why instanceof Error ? (why.stack ?? why.message) : String(why);
  log(
    logLine(status >= 500 ? "failed" : "refused", {
      status,
      method: incoming.method,
      path: pathOf(incoming.url ?? ""),
      from: incoming.socket.remoteAddress,
      agent: incoming.headers["user-agent"],
      reason,
    }),
  );
}

/** Without the query: it may hold what somebody pasted into the wrong place. */
function pathOf(url: string): string {
  const at = url.indexOf("?");
  return at < 0 ? url : url.slice(0, at);
}
