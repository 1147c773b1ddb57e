/** Builds the methods of a client from contracts. A transport does the rest. */
import {
  type Client,
  type Contract,
  type Endpoint,
  pathParameters,
  type StreamOptions,
} from "../contracts/contract.ts";

export interface TransportRequest {
  readonly resource: string;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
  readonly query: object;
  /** Without the field of the variant. Undefined if the endpoint has no body. */
  readonly body: unknown;
  readonly options: StreamOptions;
}

export interface Transport {
  output(request: TransportRequest): Promise<unknown>;
  text(request: TransportRequest): Promise<string>;
  /** The frames of a stream, or the lines. Nothing is sent before the first is read. */
  frames(request: TransportRequest): AsyncIterable<unknown>;
}

export type Clients<R extends Readonly<Record<string, Contract>>> = {
  readonly [Resource in keyof R]: Client<R[Resource]>;
};

export function createClients<const R extends Readonly<Record<string, Contract>>>(
  contracts: R,
  transport: Transport,
): Clients<R> {
  const clients: Record<string, Record<string, unknown>> = {};
  for (const [resource, contract] of Object.entries(contracts)) {
    const methods: Record<string, unknown> = (clients[resource] = {});
    for (const [name, endpoint] of Object.entries(contract)) {
      methods[name] = method(transport, { resource, name, endpoint });
    }
  }
  return clients as Clients<R>;
}

function method(transport: Transport, called: Pick<TransportRequest, "resource" | "name" | "endpoint">) {
  const { resource, name, endpoint } = called;
  const names = pathParameters(endpoint.path);
  const hasInput = endpoint.body !== undefined || endpoint.query !== undefined;
  return (...args: unknown[]): unknown => {
    const params: Record<string, string> = {};
    for (const [index, parameter] of names.entries()) {
      const value = args[index];
      // An empty id would address the list instead.
      if (typeof value !== "string" || value === "") {
        throw new TypeError(`${resource}.${name} needs "${parameter}", a string that is not empty.`);
      }
      params[parameter] = value;
    }
    const input = hasInput ? args[names.length] : undefined;
    const request: TransportRequest = {
      ...called,
      params,
      query: endpoint.body ? {} : (input ?? {}),
      body: endpoint.body ? (input ?? {}) : undefined,
      options: args[names.length + (hasInput ? 1 : 0)] ?? {},
    };
    if (endpoint.output) return transport.output(request);
    return endpoint.text === undefined ? transport.frames(request) : transport.text(request);
  };
}
