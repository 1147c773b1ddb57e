import { QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ErrorAnswer } from "../../src/http/wire.ts";

/** An answer of the server that is not what was asked for, in words that can be shown. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly next: string | undefined;
  readonly data: unknown;

  constructor(status: number, { code, message, next, data }: ErrorAnswer["error"]) {
    super(message);
    this.status = status;
    this.code = code;
    this.next = next;
    this.data = data;
  }
}

export const queries = new QueryClient({
  defaultOptions: { queries: { retry: 1, staleTime: 2_000, refetchOnWindowFocus: true } },
});

/** Relative to where the console is served, never to an address that came from outside. */
const BASE = new URL("api/", document.baseURI);

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return read(await fetch(new URL(path, BASE), { signal: signal ?? null, credentials: "same-origin" }));
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return read(await fetch(new URL(path, BASE), sent("POST", body)));
}

export async function remove<T>(path: string): Promise<T> {
  return read(await fetch(new URL(path, BASE), { method: "DELETE", credentials: "same-origin" }));
}

export function sent(method: string, body: unknown, signal?: AbortSignal): RequestInit {
  return {
    method,
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: signal ?? null,
  };
}

export function addressOf(path: string): URL {
  return new URL(path, BASE);
}

async function read<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new ApiError(response.status, errorIn(text, response));
}

function errorIn(text: string, response: Response): ErrorAnswer["error"] {
  try {
    const { error } = JSON.parse(text) as ErrorAnswer;
    if (typeof error.message === "string") return error;
  } catch {
    // Not from the API: a proxy, or a server that is going down.
  }
  return { code: "internal", message: `The server answered ${response.status} ${response.statusText}` };
}

/** What the server has under a path; read again when `live.ts` hears that something of its kind changed. */
export function useApi<T>(path: string | undefined, { everyMs }: { everyMs?: number } = {}): UseQueryResult<T, Error> {
  return useQuery({
    queryKey: (path ?? "").split(/[/?]/),
    queryFn: ({ signal }) => get<T>(path!, signal),
    enabled: path !== undefined,
    refetchInterval: everyMs ?? false,
  });
}

export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(key, `${value}`);
  return search.size === 0 ? path : `${path}?${search}`;
}
