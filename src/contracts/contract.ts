/** What an API declares: routes, the OpenAPI document, clients and handlers' types follow. Nothing here runs. */
import { z } from "zod";
import type { Identity, Scope } from "./identity.ts";

export type Method = "GET" | "POST" | "DELETE";

/** Who may use an endpoint: a token with this scope, any valid token (`authenticated`), or anyone (`public`). */
export type Access = Scope | "authenticated" | "public";

/** Server-sent events. `event:` is the frame's `type`. */
export interface EventStream<Frame extends z.ZodType = z.ZodType> {
  readonly frame: Frame;
  /** The frame is `{ id, type, data }`, and these are the fields of the event. Otherwise `data:` is the whole frame. */
  readonly isEnvelope?: boolean;
  /** The query parameter that continues after an event; `Last-Event-ID` sets it too. */
  readonly resume?: string;
  /** The id of a frame that a reader can resume after. */
  readonly id?: (frame: z.output<Frame>) => string | undefined;
}

/** Endpoints that share method and path and differ in one field of the body. Clients add the field, handlers never see it. */
export interface Variant {
  readonly field: string;
  readonly value: string;
  /** Used if the field is omitted. */
  readonly isDefault?: boolean;
}

interface EndpointBase {
  readonly summary: string;
  /** Typed values. In an address, arrays are separated by commas. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly variant?: Variant;
  /** Default: 200. */
  readonly status?: number;
  /** Answered at once, even if the server is overloaded. */
  readonly isUnlimited?: boolean;
}

/** An endpoint answers in exactly one way. */
type EndpointReply =
  /** JSON. */
  | { readonly output: z.ZodType; readonly stream?: never; readonly lines?: never; readonly text?: never }
  | { readonly stream: EventStream; readonly output?: never; readonly lines?: never; readonly text?: never }
  /** JSON documents, one a line, sent as they are read. */
  | { readonly lines: z.ZodType; readonly output?: never; readonly stream?: never; readonly text?: never }
  /** Text of this media type. */
  | { readonly text: string; readonly output?: never; readonly stream?: never; readonly lines?: never };

export type EndpointOptions = EndpointBase & EndpointReply;

export type Endpoint = EndpointOptions & { readonly scope: Access; readonly method: Method; readonly path: string };

/** One resource: its endpoints by name. */
export type Contract = Readonly<Record<string, Endpoint>>;

/** Declares endpoints with this scope. Path parameters are inferred from the literal, everything else from the schemas. */
function endpoints<const Allowed extends Access>(scope: Allowed) {
  return <const Path extends string, const Options extends EndpointOptions>(
    route: `${Method} ${Path}`,
    options: Options,
  ): Options & { readonly scope: Allowed; readonly method: Method; readonly path: Path } => {
    const space = route.indexOf(" ");
    return { ...options, scope, method: route.slice(0, space) as Method, path: route.slice(space + 1) as Path };
  };
}

/** `read("GET /api/jobs/{id}", { … })` */
export const read = endpoints("read");
export const call = endpoints("call");
export const approve = endpoints("approve");
export const admin = endpoints("admin");
export const authenticated = endpoints("authenticated");
export const anyone = endpoints("public");

export function eventStream<Frame extends z.ZodType>(
  frame: Frame,
  options: Omit<EventStream<Frame>, "frame"> = {},
): EventStream<Frame> {
  return { frame, ...options };
}

/** The names in braces, in the order of the path. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Schemas with a name: the components of the OpenAPI document, and what error messages call a body. */
export const namedSchemas = z.registry<{ id: string }>();

export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  namedSchemas.add(schema, { id });
  return schema;
}

/** A strict object with a name. */
export function namedObject<Fields extends z.ZodRawShape>(id: string, fields: Fields) {
  return named(id, z.strictObject(fields));
}

/** A list of strict objects. */
export function objects<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.array(z.strictObject(fields));
}

type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

type PathArguments<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? [name: string, ...PathArguments<Rest>]
  : [];

export type Params<E extends Endpoint> = { readonly [Name in ParameterNames<E["path"]>]: string };
export type QueryOf<E extends Endpoint> = E extends { query: infer Query extends z.ZodType } ? z.output<Query> : object;
export type BodyOf<E extends Endpoint> = E extends { body: infer Body extends z.ZodType } ? z.output<Body> : undefined;
export type OutputOf<E extends Endpoint> = E extends { output: infer Output extends z.ZodType }
  ? z.output<Output>
  : never;
/** A frame of an event stream, or one of the JSON lines. */
export type FrameOf<E extends Endpoint> = E extends { stream: EventStream<infer Frame> }
  ? z.output<Frame>
  : E extends { lines: infer Line extends z.ZodType }
    ? z.output<Line>
    : never;

type MaybePromise<T> = T | Promise<T>;

/** Handlers may return data that they do not own. */
export type Immutable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [Key in keyof T]: Immutable<T[Key]> };

/** What a handler gets, the same over HTTP and in process. Query and body were validated, and the scope was checked. */
export interface HandlerRequest<E extends Endpoint = Endpoint> {
  readonly params: Params<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyOf<E>;
  readonly identity: Identity;
  /** Aborted when the client disconnects or stops reading, and when the server closes. */
  readonly signal: AbortSignal;
  /** Calls the listener if the client disconnects before it has the response: costs less than `signal`. Undefined in process. */
  readonly onDisconnect?: (listener: () => void) => void;
  /** For the HTTP response, before the first frame of a stream. In process it does nothing. */
  setHeader(name: string, value: string): void;
  /** Of an HTTP client; undefined in process. */
  readonly remoteAddress?: string;
}

export type HandlerResult<E extends Endpoint> = E extends { output: z.ZodType }
  ? MaybePromise<Immutable<OutputOf<E>>>
  : E extends { text: string }
    ? MaybePromise<string>
    : MaybePromise<AsyncIterable<Immutable<FrameOf<E>>>>;

export type Handler<E extends Endpoint, Context = unknown> = (request: HandlerRequest<E> & Context) => HandlerResult<E>;

/** One handler for each endpoint. `Context` is added to the request by the part that calls the handlers. */
export type Handlers<C extends Contract, Context = unknown> = {
  readonly [Name in keyof C]: Handler<C[Name], Context>;
};

export interface ClientCallOptions {
  signal?: AbortSignal;
}

export interface StreamOptions extends ClientCallOptions {
  /**
   * Called when the connection was lost, before it is opened again; throw in it to stop. Only streams that can be resumed are
   * opened again.
   */
  onReconnect?: (error: unknown) => void;
}

type InputArguments<E extends Endpoint> = E extends { body: infer Body extends z.ZodType }
  ? object extends z.input<Body>
    ? [body?: z.input<Body>]
    : [body: z.input<Body>]
  : E extends { query: infer Query extends z.ZodType }
    ? object extends z.input<Query>
      ? [query?: z.input<Query>]
      : [query: z.input<Query>]
    : [];

type ClientResult<E extends Endpoint> = E extends { output: z.ZodType }
  ? Promise<OutputOf<E>>
  : E extends { text: string }
    ? Promise<string>
    : AsyncIterable<FrameOf<E>>;

/** The path parameters in their order, then the body or the query, then options. */
export type ClientMethod<E extends Endpoint> = (
  ...args: [
    ...PathArguments<E["path"]>,
    ...InputArguments<E>,
    options?: E extends { stream: EventStream } ? StreamOptions : ClientCallOptions,
  ]
) => ClientResult<E>;

export type Client<C extends Contract> = { readonly [Name in keyof C]: ClientMethod<C[Name]> };
