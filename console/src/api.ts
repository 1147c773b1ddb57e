import { QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { createHttpClient } from "../../src/api/http-client.ts";
import { pathParameters, type Endpoint } from "../../src/contracts/contract.ts";
import { ApiError } from "../../src/contracts/errors.ts";
import type { Scope } from "../../src/contracts/identity.ts";
import { type ApiClient, contracts } from "../../src/contracts/index.ts";
import { setConnection, useConnection } from "./connection.ts";
import type {} from "./first-answers.ts";

export { ApiError };

const FIRST_RETRY_MS = 300;
const MAX_RETRY_MS = 3_000;
/** Whether the next load of the console may expect to be signed in (`first-answers.ts`). */
const SIGNED_IN = "haft.signed-in";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // While the server is away, pages keep what they show, and read it again when it is back.
      retry: (count, error) => isOutage(error) || (count < 1 && !(error instanceof ApiError && error.status < 500)),
      retryDelay: (count) => Math.min(FIRST_RETRY_MS * 2 ** count, MAX_RETRY_MS),
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // The server may be on this machine: it is there without a network too.
      networkMode: "always",
    },
  },
});

/** No server answered, or it is about to stop. */
export function isOutage(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.code === "shutdown");
}

/** Paths of the API are relative to the address of the console, which may be below a proxy's prefix. */
function addressOf(path: string): URL {
  return new URL(`.${path}`, document.baseURI);
}

/** The typed client of the API. The browser's cookie is its credential. */
export const api: ApiClient = createHttpClient(contracts, {
  url: location.origin,
  fetch: async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    let response: Response;
    try {
      const first = init?.method === "GET" ? firstAnswers?.get(`${pathname}${search}`) : undefined;
      firstAnswers?.delete(`${pathname}${search}`);
      response = await (first ?? fetch(addressOf(`${pathname}${search}`), { ...init, credentials: "same-origin" }));
    } catch (error) {
      if (!init?.signal?.aborted) setConnection({ isReachable: false });
      throw error;
    }
    const isLogin = pathname === contracts.session.login.path && init?.method === contracts.session.login.method;
    const isRefused = response.status === 401 && !isLogin;
    if (isRefused) localStorage.removeItem(SIGNED_IN);
    else if (response.ok && pathname === contracts.session.show.path) localStorage.setItem(SIGNED_IN, "");
    setConnection(isRefused ? { isReachable: true, isSignedIn: false } : { isReachable: true });
    return response;
  },
});

/** The address of an endpoint, for links. */
export function endpointUrl(path: string, query: Record<string, string | undefined> = {}): URL {
  const url = addressOf(path);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  return url;
}

type Method = (...args: never[]) => unknown;
type Args<M> = M extends (...args: infer A) => unknown ? A : never;
type Result<M> = M extends (...args: never[]) => Promise<infer Output> ? Output : never;

/**
 * The output of one endpoint: `useApi("jobs", "list", [{ limit: 100 }])`. It is fetched again when `live.ts` learns that
 * something of this resource changed. With `undefined` in place of the arguments nothing is fetched.
 */
export function useApi<R extends keyof ApiClient, M extends keyof ApiClient[R] & string>(
  resource: R,
  method: M,
  args: Args<ApiClient[R][M]> | undefined,
  { everyMs }: { everyMs?: number } = {},
): UseQueryResult<Result<ApiClient[R][M]>, Error> {
  const { isSignedIn } = useConnection();
  return useQuery({
    queryKey: [resource, method, ...(args ?? [])],
    queryFn: ({ signal }) => {
      const { path, query, body }: Endpoint = Object(contracts[resource])[method];
      const all: unknown[] = [...(args ?? [])];
      // The options come after the path parameters and the input.
      all[pathParameters(path).length + (query || body ? 1 : 0)] = { signal };
      const call = api[resource][method] as Method;
      return call(...(all as never[])) as Promise<Result<ApiClient[R][M]>>;
    },
    // Requests with an old cookie count as wrong tokens, and too many of them block the address.
    enabled: args !== undefined && (isSignedIn || resource === "session"),
    refetchInterval: everyMs ?? false,
  });
}

const PENDING = { state: "pending", brief: true, limit: 500 } as const;

/** All that waits for a person: one query for all who show it. In pages, so that the server never makes one long answer. */
export function usePending(): UseQueryResult<Result<ApiClient["approvals"]["list"]>["items"], Error> {
  const { isSignedIn } = useConnection();
  return useQuery({
    queryKey: ["approvals", "list", PENDING],
    queryFn: async ({ signal }) => {
      let page = await api.approvals.list(PENDING, { signal });
      const items = [...page.items];
      while (page.next !== undefined) {
        page = await api.approvals.list({ ...PENDING, cursor: page.next }, { signal });
        items.push(...page.items);
      }
      return items;
    },
    enabled: isSignedIn,
  });
}

/** Whether the person may do what needs this scope. The server checks it again. */
export function useScope(scope: Scope): boolean {
  return useApi("session", "show", []).data?.scopes.includes(scope) ?? false;
}
