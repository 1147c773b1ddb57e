import { describe, expect, test } from "vitest";
import type { Contract } from "../../src/contracts/contract.ts";
import { contracts } from "../../src/contracts/index.ts";
import { lintJsonSchema } from "../../src/schema/lint-json-schema.ts";
import type { HttpServerOptions } from "../../src/server/http-server.ts";
import { openCheckedClient } from "./checked-client.ts";
import { ask, openTestServer } from "./open-server.ts";

type Fields = Record<string, unknown>;

async function readApi() {
  const api = await openTestServer({ api: ALL });
  const client = await openCheckedClient(api, "read");
  const document = (await client.server.openApi()) as {
    paths: Record<string, Record<string, Fields>>;
    components: { schemas: Record<string, Fields> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return { api, document, operations };
}

const never = () => {
  throw new Error("not called in this test");
};
/** Every resource of the API, with handlers that are not called. */
const ALL = Object.fromEntries(
  Object.entries<Contract>(contracts)
    .filter(([resource]) => resource !== "server" && resource !== "session")
    .map(([resource, contract]) => [
      resource,
      () => Object.fromEntries(Object.keys(contract).map((name) => [name, never])),
    ]),
) as HttpServerOptions["api"];

describe("the OpenAPI document", () => {
  test("has version 3.1, and every reference resolves", async () => {
    const { document } = await readApi();
    expect(document).toMatchObject({ openapi: "3.1.0", info: { title: "Haft" } });
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!);
    expect(references.length).toBeGreaterThan(50);
    const missing = references.filter((reference) => {
      const found = reference
        .replace(/^#\//, "")
        .split("/")
        .reduce<unknown>((at, key) => (at as Fields | undefined)?.[key], document);
      return found === undefined;
    });
    expect(missing).toEqual([]);
  });

  test("has schemas that are plain JSON Schema", async () => {
    const { document } = await readApi();
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const standing = { ...schema, components: document.components };
      expect([name, lintJsonSchema(standing as never)]).toEqual([name, []]);
      expect(JSON.stringify(schema)).not.toMatch(/"\$schema"|"\$id"|"~standard"/);
    }
  });

  test("describes every operation: id, security, parameters, responses and errors", async () => {
    const { operations } = await readApi();
    const ids = operations.map(({ operation }) => operation["operationId"]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const parameters = (operation["parameters"] ?? []) as {
        name: string;
        in: string;
        required?: boolean;
        schema: unknown;
      }[];
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parameters.filter((each) => each.in === "path").map(({ name }) => name)).toEqual(inPath);
      expect(operation).toMatchObject({
        summary: expect.any(String),
        security: expect.any(Array),
        responses: { default: {} },
      });
      const responses = operation["responses"] as Record<string, { description?: string; content?: Fields }>;
      expect(Object.keys(responses).length).toBeGreaterThan(1);
      for (const response of Object.values(responses)) {
        expect(response.description).toBeTruthy();
        expect(Object.keys(response.content ?? {}).length).toBeGreaterThan(0);
      }
    }
  });

  test("is correct: each operation exists, needs its scope, and refuses requests without a token", async () => {
    const { api, operations } = await readApi();
    const nobody = await api.tokenFor();
    for (const { path, method, operation } of operations) {
      const target = path.replaceAll(/\{\w+\}/g, "x");
      const security = operation["security"] as { bearer?: string[] }[];
      const bare = await ask(api, method.toUpperCase(), target);
      // A login without a body is not understood; without a token it was let in so far.
      const expected = security.length > 0 ? 401 : method === "post" ? 415 : 200;
      expect([path, method, bare.status]).toEqual([path, method, expected]);
      const without = await ask(api, method.toUpperCase(), target, { token: nobody });
      const isScoped = security[0]?.bearer?.[0] !== undefined;
      expect([path, method, without.json.error?.code === "forbidden"]).toEqual([path, method, isScoped]);
    }
  });

  test("has no part that the server does not have", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read");
    const paths = Object.keys((await client.server.openApi())["paths"] as object);
    expect(paths.filter((path) => /policy|audit|undo|changes|configuration/.test(path))).toEqual([]);
    for (const path of ["/api/policy", "/api/audit", "/api/audit/verify", "/api/changes/x", "/api/configuration"]) {
      expect((await ask(api, "GET", path, { token: await api.tokenFor("read") })).json.error?.code).toBe("not_here");
    }
    expect((await client.server.info()).parts).toEqual(["tokens"]);
  });
});
