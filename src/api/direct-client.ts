import type { Contract, Handlers } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import type { Identity } from "../contracts/identity.ts";
import { checkInput, checkScope } from "./check-request.ts";
import { type Clients, createClients, type TransportRequest } from "./client.ts";
import { toApiError } from "./handlers/to-api-error.ts";

type Contracts = Readonly<Record<string, Contract>>;

export interface DirectClientOptions<R extends Contracts> {
  identity: Identity;
  /** Called for each request, so a resource can be opened when it is first used. Undefined: this process does not have it. */
  handlersOf<Resource extends keyof R & string>(resource: Resource): Promise<Handlers<R[Resource]> | undefined>;
}

/** Calls handlers in this process, with the checks and errors of HTTP. A fault in a handler keeps its own error. */
export function createDirectClient<const R extends Contracts>(
  contracts: R,
  options: DirectClientOptions<R>,
): Clients<R> {
  const call = (request: TransportRequest, signal: AbortSignal): Promise<unknown> => invoke(request, options, signal);
  const never = new AbortController().signal;
  return createClients(contracts, {
    output: (request) => call(request, request.options.signal ?? never),
    text: async (request) => String(await call(request, request.options.signal ?? never)),
    async *frames(request) {
      // A reader that stops early ends the handler too.
      const stopped = new AbortController();
      const { signal } = request.options;
      try {
        const both = signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal;
        yield* (await call(request, both)) as AsyncIterable<unknown>;
        // As over HTTP: a stream that cannot be resumed does not end quietly.
        if (request.endpoint.stream?.resume === undefined) signal?.throwIfAborted();
      } catch (error) {
        throw toApiError(error) ?? error;
      } finally {
        stopped.abort();
      }
    },
  });
}

async function invoke<R extends Contracts>(
  { resource, name, endpoint, params, query, body }: TransportRequest,
  { identity, handlersOf }: DirectClientOptions<R>,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted();
  try {
    checkScope(endpoint, identity);
    const input = checkInput(endpoint, { params, query, body });
    // The request was built from the contract of this resource, so its type is right for the handler.
    const handlers = (await handlersOf(resource)) as Readonly<Record<string, (request: object) => unknown>> | undefined;
    const handle = handlers?.[name];
    if (!handle) throw new ApiError("not_here", `${resource} is not available here`, "Check the configuration.");
    return await handle({ ...input, identity, signal, setHeader: () => undefined });
  } catch (error) {
    throw toApiError(error) ?? error;
  }
}
