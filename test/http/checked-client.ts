// A client whose every answer is held against the server's own OpenAPI document.
import { createClient, type HaftClient } from "../../src/client/index.ts";
import { SHAPES, type ShapeName } from "../../src/http/wire-schemas.ts";
import type { Scope } from "../../src/http/wire.ts";
import type { TestServer } from "./open-door.ts";

interface Described {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content: Record<string, { schema: { $ref?: string } }> }> }>
  >;
}

export async function openCheckedClient(api: TestServer, ...scopes: Scope[]): Promise<HaftClient> {
  const token = await api.tokenFor(...scopes);
  const document = (await api.server.api.openApi()) as Described;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    const { pathname } = new URL(String(input));
    if (!response.headers.get("content-type")?.startsWith("application/json")) return response;
    const shape = shapeOf(document, init?.method ?? "GET", pathname, response.status);
    if (shape) SHAPES[shape].parse(await response.clone().json());
    return response;
  };
  return createClient({ url: api.server.url, token, fetch });
}

function shapeOf({ paths }: Described, method: string, pathname: string, status: number): ShapeName | undefined {
  // A path that is written out comes before one with a parameter.
  const path = Object.keys(paths)
    .sort((a, b) => a.split("{").length - b.split("{").length)
    .find((each) => new RegExp(`^${each.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname));
  if (path === undefined) return status === 404 ? "ErrorAnswer" : undefined;
  const { responses } = paths[path]![method.toLowerCase()] ?? { responses: {} };
  const described = responses[status] ?? responses["default"];
  if (!described) throw new Error(`${method} ${pathname} answers ${status}, which its description does not say`);
  return described.content["application/json"]?.schema.$ref?.split("/").at(-1) as ShapeName | undefined;
}
