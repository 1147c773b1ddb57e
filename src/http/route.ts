import type { IncomingMessage, ServerResponse } from "node:http";
import type { MaybePromise } from "../core/stage.ts";
import type { Identity } from "./identify.ts";
import type { Scope } from "./wire.ts";
import type { Shape, ShapeName } from "./wire-schemas.ts";

/** One thing that can be asked of the server. What it says of itself is also what the OpenAPI document says. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** `/api/calls/{id}`. */
  readonly path: string;
  readonly summary: string;
  /** `anybody`: no token. `identified`: any. */
  readonly scope: Scope | "identified" | "anybody";
  readonly query: readonly QueryParameter[];
  readonly body: ShapeName | undefined;
  readonly answers: readonly RouteResponse[];
  readonly handle: (context: RequestContext<never>) => MaybePromise<HandlerResult>;
}

export interface QueryParameter {
  readonly name: string;
  readonly summary: string;
  readonly type?: "integer";
}

export interface RouteResponse {
  readonly status?: number;
  readonly summary?: string;
  /** Of the JSON; other answers have a media type alone. */
  readonly shape?: ShapeName;
  readonly mediaType?: string;
}

export interface RequestContext<Body = undefined> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly identity: Identity;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export interface Query {
  text(name: string): string | undefined;
  /** Throws `bad_request` for what is no whole number in range. */
  number(name: string, range?: { min?: number; max?: number }): number | undefined;
}

export type HandlerResult =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly text: string; readonly mediaType: string; readonly headers?: Readonly<Record<string, string>> }
  /** The handler writes to `outgoing` itself. */
  | typeof HANDLED;

export const HANDLED: unique symbol = Symbol("the handler writes the answer itself");

interface RouteOptions<Body extends ShapeName | undefined> {
  summary: string;
  scope: Route["scope"];
  query?: readonly QueryParameter[];
  body?: Body;
  answers: ShapeName | readonly RouteResponse[];
  handle(context: RequestContext<Body extends ShapeName ? Shape<Body> : undefined>): MaybePromise<HandlerResult>;
}

/** `route("GET /api/calls/{id}", { … })`: the type of `body` is that of its shape. */
export function route<Body extends ShapeName | undefined = undefined>(
  endpoint: `${Route["method"]} /api/${string}`,
  { summary, scope, query = [], body, answers, handle }: RouteOptions<Body>,
): Route {
  const [method, path] = endpoint.split(" ") as [Route["method"], string];
  return {
    method,
    path,
    summary,
    scope,
    query,
    body,
    answers: typeof answers === "string" ? [{ shape: answers }] : answers,
    handle: handle as Route["handle"],
  };
}

export function json(value: unknown, status = 200, headers?: Readonly<Record<string, string>>): HandlerResult {
  return { json: value, status, headers };
}

/** What one file of resources/ gives. A resource without routes is not here, and its paths say so. */
export interface Resource<ApiContext> {
  readonly path: string;
  routes(api: ApiContext): readonly Route[];
}

export const LIMIT: QueryParameter = { name: "limit", summary: "At most this many, up to 500", type: "integer" };
export const CURSOR: QueryParameter = { name: "cursor", summary: "`next` of the page before" };
