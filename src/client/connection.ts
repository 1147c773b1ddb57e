import type { ErrorAnswer } from "../http/wire.ts";
import { HaftClientError } from "./client-error.ts";

export interface ClientOptions {
  /** Of the server: `http://127.0.0.1:4117`. In the console its own origin. */
  url: string;
  /** Absent in the console, whose cookie says who it is. */
  token?: string;
  /** The runtime's own where absent. */
  fetch?: typeof globalThis.fetch;
}

export interface RequestOptions {
  method?: "GET" | "POST" | "DELETE";
  query?: object;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Connection {
  /** The JSON of the answer; throws HaftClientError. */
  ask<T>(path: string, options?: RequestOptions): Promise<T>;
  /** The response itself, once it is known to be no refusal. */
  open(path: string, options?: RequestOptions): Promise<Response>;
}

/** The token goes to this server alone, whatever an answer says: redirects are not followed. */
export function connect({ url, token, fetch: send = globalThis.fetch.bind(globalThis) }: ClientOptions): Connection {
  const base = new URL(url);
  const open = async (
    path: string,
    { method = "GET", query = {}, body, headers, signal }: RequestOptions = {},
  ): Promise<Response> => {
    const target = new URL(path, base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, Array.isArray(value) ? value.join(",") : String(value));
    }
    let response: Response;
    try {
      response = await send(target, {
        method,
        redirect: "error",
        headers: {
          ...headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: signal || undefined,
      });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      const message = `No Haft answers at ${base.origin}`;
      const next = "Start it with `haft`, or name another address.";
      throw new HaftClientError(0, { code: "unreachable", message, next }, cause);
    }
    if (!response.ok) throw new HaftClientError(response.status, await readError(response));
    return response;
  };
  return {
    open,
    ask: async <T>(path: string, options?: RequestOptions) => (await (await open(path, options)).json()) as T,
  };
}

async function readError(response: Response): Promise<ErrorAnswer["error"]> {
  try {
    const { error } = (await response.json()) as Partial<ErrorAnswer>;
    if (error && typeof error.message === "string") return error;
  } catch {
    // Somebody else answered: a proxy, or another server on that port.
  }
  return {
    code: "internal",
    message: `The server answered with ${response.status}`,
    next: "Is it a Haft that listens there?",
  };
}
