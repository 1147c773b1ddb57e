import { QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { z } from "zod";
import { createHttpClient } from "../../src/api/http-client.ts";
import { pathParameters, type Endpoint } from "../../src/contracts/contract.ts";
import { type ApiClient, contracts } from "../../src/contracts/index.ts";

export { ApiError } from "../../src/contracts/errors.ts";

// Zod compiles its checks with `new Function`, which our content security policy forbids.
z.config({ jitless: true });

export const queries = new QueryClient({
  defaultOptions: { queries: { retry: 1, staleTime: 2_000, refetchOnWindowFocus: true } },
});

/** Paths of the API are relative to the address of the console, which may be below a proxy's prefix. */
function addressOf(path: string): URL {
  return new URL(`.${path}`, document.baseURI);
}

/** The typed client of the API. The browser's cookie is its credential. */
export const api: ApiClient = createHttpClient(contracts, {
  url: location.origin,
  fetch: (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(addressOf(`${pathname}${search}`), { ...init, credentials: "same-origin" });
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
    enabled: args !== undefined,
    refetchInterval: everyMs ?? false,
  });
}
