/** What every transport checks before it calls a handler. */
import { z } from "zod";
import { type Contract, type Endpoint, namedSchemas } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import { type Identity, requireScope } from "../contracts/identity.ts";
import { checkQuery } from "./query.ts";

/** Separate from `checkInput`, so a server can refuse a request before it reads the body. */
export function checkScope({ scope }: Endpoint, identity: Identity): void {
  if (scope !== "public" && scope !== "authenticated") requireScope(identity, scope, "This request");
}

const NO_QUERY = z.strictObject({});

export interface RequestInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly body?: unknown;
}

/** Throws `bad_request` with every issue and its path. A body that is omitted is an empty object. */
export function checkInput(
  { query, body }: Endpoint,
  input: RequestInput,
): { params: Readonly<Record<string, string>>; query: object; body: unknown } {
  for (const [name, value] of Object.entries(input.params)) {
    // Stores keep no text with a NUL character, and some fail if they search for one.
    if (value.includes("\0")) throw new ApiError("bad_request", `The path parameter "${name}" has a NUL character`);
  }
  return {
    params: input.params,
    query: query === undefined && isEmpty(input.query) ? {} : checkQuery(query ?? NO_QUERY, input.query ?? {}),
    body: body ? checkBody(body, input.body ?? {}) : undefined,
  };
}

function isEmpty(query: object | undefined): boolean {
  for (const _name in query) return false;
  return true;
}

/** Also for the messages of a WebSocket. */
export function checkBody<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const name = namedSchemas.get(schema)?.id;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`);
  throw new ApiError(
    "bad_request",
    `The body is not ${name === undefined ? "valid" : `a valid ${name}`}: ${issues.join("; ")}`,
    "See /api/openapi.json.",
    { data: { issues } },
  );
}

/** Endpoints with the same method and path. */
export type Variants = [Endpoint, ...Endpoint[]];

/** By method and path, in the order of the contracts. */
export function byRoute(contracts: Readonly<Record<string, Contract>>): Map<string, Variants> {
  const routes = new Map<string, Variants>();
  for (const endpoint of Object.values(contracts).flatMap((contract) => Object.values(contract))) {
    const route = `${endpoint.method} ${endpoint.path}`;
    const known = routes.get(route);
    if (known) known.push(endpoint);
    else routes.set(route, [endpoint]);
  }
  return routes;
}

/** The endpoint that a body selects, and the body without the field that selects it. */
export function selectVariant(endpoints: Variants, body: unknown): { endpoint: Endpoint; body: unknown } {
  const field = endpoints[0].variant?.field;
  if (field === undefined || typeof body !== "object" || body === null) return { endpoint: byDefault(endpoints), body };
  const { [field]: value, ...rest } = body as Record<string, unknown>;
  if (value === undefined) return { endpoint: byDefault(endpoints), body: rest };
  const endpoint = endpoints.find(({ variant }) => variant?.value === value);
  if (endpoint) return { endpoint, body: rest };
  const values = endpoints.map(({ variant }) => variant?.value).join(", ");
  throw new ApiError("bad_request", `"${field}" must be one of: ${values}`, "See /api/openapi.json.");
}

function byDefault(endpoints: Variants): Endpoint {
  return endpoints.find(({ variant }) => !variant || variant.isDefault) ?? endpoints[0];
}
