import { z } from "zod";
import { CallErrorCode } from "./basics.ts";
import { namedObject } from "./contract.ts";

const HTTP_STATUS = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  /** This server does not have the capability. */
  not_here: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  internal: 500,
  /** The server is overloaded: the request was not begun. */
  overloaded: 503,
} as const;

/** Codes of the API itself, in addition to those of calls. */
export type ApiErrorCode = keyof typeof HTTP_STATUS;
export const ApiErrorCode = z.enum(Object.keys(HTTP_STATUS) as [ApiErrorCode, ...ApiErrorCode[]]);

/** The body of every response with a status of 400 or more. */
export const ErrorAnswer = namedObject("ErrorAnswer", {
  error: z.strictObject({
    code: z.union([ApiErrorCode, CallErrorCode]),
    /** What happened. */
    message: z.string(),
    /** What to do. */
    next: z.string().optional(),
    data: z.unknown().optional(),
  }),
});
export type ErrorAnswer = z.infer<typeof ErrorAnswer>;

export interface ApiErrorOptions {
  data?: unknown;
  cause?: unknown;
  /** Default: the status of the code. A client sets what the server sent. */
  status?: number;
  /** For the HTTP response. */
  headers?: Readonly<Record<string, string>>;
}

/** A failed request: thrown by handlers, sent as `ErrorAnswer`, thrown again by clients. `unreachable`: no server. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Of the HTTP response. */
  readonly status: number;
  /** Further facts for programs. */
  readonly data: unknown;
  /** Further headers of the response. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    /** What happened; `unreachable` if no server answered. */
    readonly code: ErrorAnswer["error"]["code"] | "unreachable",
    message: string,
    /** What to do next. */
    readonly next?: string,
    { data, cause, status, headers = {} }: ApiErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status ?? statusOf(code);
    this.data = data;
    this.headers = headers;
  }
}

/** `list`: the resource whose list has what exists. Clients name it in their own way. */
export function notFound(message: string, list: string): ApiError {
  return new ApiError("not_found", message, `GET /api/${list} lists what there is.`, { data: { list } });
}

function statusOf(code: string): number {
  if (code === "unreachable") return 0;
  return Object.hasOwn(HTTP_STATUS, code) ? HTTP_STATUS[code as ApiErrorCode] : 500;
}
