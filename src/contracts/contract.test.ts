import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Endpoint, eventStream, named, namedSchemas, pathParameters, read } from "./contract.ts";
import { ApiError, ErrorAnswer } from "./errors.ts";
import { requireScope } from "./identity.ts";
import { contracts } from "./index.ts";

const all = Object.entries(contracts).flatMap(([resource, contract]) =>
  Object.entries<Endpoint>(contract).map(([name, declared]) => ({ name: `${resource}.${name}`, ...declared })),
);

test("an endpoint has the method and the path of its literal", () => {
  const get = read("GET /api/things/{id}/parts/{part}", { summary: "", output: z.string() });
  expect(get).toMatchObject({ method: "GET", scope: "read", path: "/api/things/{id}/parts/{part}" });
  expect(pathParameters(get.path)).toEqual(["id", "part"]);
});

test("a name belongs to one schema, and the schema keeps its type", () => {
  const schema = named("ContractTestThing", z.strictObject({ a: z.string() }));
  expect(namedSchemas.get(schema)?.id).toBe("ContractTestThing");
  expect(schema.parse({ a: "x" })).toEqual({ a: "x" });
  namedSchemas.remove(schema);
});

test("an event stream keeps how its frames are numbered", () => {
  const stream = eventStream(z.strictObject({ seq: z.number() }), { resume: "after", id: ({ seq }) => String(seq) });
  expect(stream.id?.({ seq: 3 })).toBe("3");
});

test("method and path are unique, except for variants with different values of one field", () => {
  const routes = [...groupRoutes()];
  const single = routes.filter(([, endpoints]) => endpoints.length === 1);
  for (const [route, endpoints] of single) expect(endpoints[0]?.variant, route).toBeUndefined();
  const shared = routes.filter(([, endpoints]) => endpoints.length > 1);
  expect(shared.map(([route]) => route)).toEqual([
    "POST /api/calls",
    "POST /api/calls/{id}/replay",
    "POST /api/policy/simulate",
  ]);
  for (const [route, endpoints] of shared) {
    const variants = endpoints.map(({ variant }) => variant);
    expect(new Set(variants.map((variant) => variant?.field)).size, route).toBe(1);
    expect(new Set(variants.map((variant) => variant?.value)).size, route).toBe(endpoints.length);
    expect(variants.filter((variant) => variant?.isDefault).length, route).toBe(1);
    expect(new Set(endpoints.map(({ scope }) => scope)).size, route).toBe(1);
    expect(new Set(endpoints.map(({ body }) => body)).size, route).toBe(1);
  }
});

test("each endpoint answers in one way and takes a query or a body, never both", () => {
  for (const { name, output, stream, lines, text, query, body } of all) {
    expect([output, stream, lines, text].filter((kind) => kind !== undefined).length, name).toBe(1);
    expect(query && body, name).toBeUndefined();
  }
});

test("bodies have names, and a stream resumes by one of its own query parameters", () => {
  const unnamed = all.filter(({ body }) => body && namedSchemas.get(body) === undefined);
  expect(unnamed).toEqual([]);
  for (const { name, query, stream } of all) {
    expect(["", ...Object.keys(query?.shape ?? {})], name).toContain(stream?.resume ?? "");
    expect(stream?.resume === undefined, name).toBe(stream?.id === undefined);
  }
});

test("query parameters are described and travel as text", () => {
  const kinds = ["string", "number", "enum", "array", "boolean"];
  for (const { name, query } of all) {
    for (const [parameter, field] of Object.entries(query?.shape ?? {})) {
      const bare = field instanceof z.ZodOptional ? (field.unwrap() as z.ZodType) : (field as z.ZodType);
      expect(z.globalRegistry.get(field)?.description, `${name} ${parameter}`).toBeTruthy();
      expect(kinds, `${name} ${parameter}`).toContain(bare.def.type);
    }
  }
});

test("requests with unknown fields are refused", () => {
  for (const { name, body } of all) {
    if (!body) continue;
    const issues = body.safeParse({ noSuchField: 1 }).error?.issues ?? [];
    expect(
      issues.some(({ code }) => code === "unrecognized_keys"),
      name,
    ).toBe(true);
  }
});

test("contracts import nothing but Zod, each other and files of core that import nothing, so a browser can load them", () => {
  const folder = new URL("./", import.meta.url);
  const importsOf = (file: URL): string[] =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|export)\s(?!type\s)[^;]*?from "([^"]+)"/gm)].map(
      ([, from = ""]) => from,
    );
  const isLeafOfCore = (from: string): boolean =>
    from.startsWith("../core/") && importsOf(new URL(from, folder)).length === 0;
  for (const file of readdirSync(folder).filter((name) => !/\.(test|types)\.ts$/.test(name))) {
    const others = importsOf(new URL(file, folder)).filter((from) => from !== "zod" && !from.startsWith("./"));
    expect(
      others.filter((from) => !isLeafOfCore(from)),
      file,
    ).toEqual([]);
  }
});

test("a caller may have a caller as its parent", () => {
  const job = contracts.jobs.get.output;
  expect(job.shape.caller.parse({ depth: 1, parent: { depth: 0 } })).toEqual({ depth: 1, parent: { depth: 0 } });
});

test("an error has the status of its code", () => {
  expect(new ApiError("not_here", "No").status).toBe(404);
  expect(new ApiError("unreachable", "No").status).toBe(0);
  expect(new ApiError("denied", "No", undefined, { status: 403 }).status).toBe(403);
  expect(ErrorAnswer.safeParse({ error: { code: "not_found", message: "No" } }).success).toBe(true);
});

test("a missing scope is named with the scopes that the token has", () => {
  const identity = { id: "1", name: "ci", scopes: ["read"], kind: "token" } as const;
  expect(() => requireScope(identity, "read")).not.toThrow();
  expect(() => requireScope(identity, "admin", "To cancel")).toThrow(
    'To cancel needs the scope "admin", and the token "ci" has read',
  );
});

function groupRoutes(): Map<string, typeof all> {
  const routes = new Map<string, typeof all>();
  for (const each of all) {
    const route = `${each.method} ${each.path}`;
    routes.set(route, [...(routes.get(route) ?? []), each]);
  }
  return routes;
}
