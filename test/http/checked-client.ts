// A client that checks every response and every frame against the contract of its endpoint.
import { createClient, type HaftClient } from "../../src/client.ts";
import type { Contract, Endpoint } from "../../src/contracts/contract.ts";
import { ErrorAnswer } from "../../src/contracts/errors.ts";
import { contracts, type Scope } from "../../src/contracts/index.ts";
import type { TestServer } from "./open-server.ts";

const ENDPOINTS: readonly Endpoint[] = Object.values<Contract>(contracts).flatMap((contract) =>
  Object.values(contract),
);

export async function openCheckedClient(
  { server, tokenFor }: Pick<TestServer, "server" | "tokenFor">,
  ...scopes: Scope[]
): Promise<HaftClient> {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (response.ok) checkStatus(init?.method ?? "GET", new URL(String(input)).pathname, response.status);
    else ErrorAnswer.parse(await response.clone().json());
    return response;
  };
  const client = createClient({ url: server.url, token: await tokenFor(...scopes), fetch });
  const checked = Object.entries<Contract>(contracts).map(([resource, contract]) => [
    resource,
    checkedMethods(contract, client[resource as keyof typeof contracts] as unknown as Methods),
  ]);
  return { ...client, ...(Object.fromEntries(checked) as object) };
}

type Methods = Readonly<Record<string, (...args: unknown[]) => unknown>>;

function checkedMethods(contract: Contract, methods: Methods): Methods {
  return Object.fromEntries(
    Object.entries(contract).map(([name, { output, stream, lines }]) => {
      const frame = stream?.frame ?? lines;
      const checked = (...args: unknown[]): unknown => {
        const result = methods[name]!(...args);
        if (frame) return checkedFrames(frame, result as AsyncIterable<unknown>);
        return (result as Promise<unknown>).then((value) => (output?.parse(value), value));
      };
      return [name, checked];
    }),
  );
}

async function* checkedFrames(schema: { parse(value: unknown): unknown }, frames: AsyncIterable<unknown>) {
  for await (const frame of frames) {
    schema.parse(frame);
    yield frame;
  }
}

/** Only a status of the contract. */
function checkStatus(method: string, pathname: string, status: number): void {
  const matching = ENDPOINTS.filter(
    (endpoint) =>
      endpoint.method === method && new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (matching.some((endpoint) => (endpoint.status ?? 200) === status)) return;
  throw new Error(`${method} ${pathname} answers ${status}, which its contract does not have`);
}
