import { expect, test } from "vitest";
import { namedSchemas } from "../contracts/contract.ts";
import { contracts } from "../contracts/index.ts";
import "../contracts/socket.ts";
import { byRoute } from "./check-request.ts";
import { describeApi } from "./openapi.ts";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: { type?: string } }[];
  requestBody?: unknown;
  responses: Record<string, { description: string; content: Record<string, unknown> }>;
  security: object[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: Record<string, unknown>; additionalProperties?: boolean }> };
}

const document = describeApi(contracts, { version: "1.2.3" }) as unknown as Document;
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test("every route is one operation with an id of its own", () => {
  expect(operations).toHaveLength(byRoute(contracts).size);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
});

test("every reference leads to a component, and nothing is defined twice", () => {
  const text = JSON.stringify(document);
  const names = Object.keys(document.components.schemas);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) expect(names).toContain(name);
  for (const [, reference] of text.matchAll(/"\$ref":"([^"]+)"/g))
    expect(reference).toMatch(/^#\/components\/schemas\//);
  expect(text).not.toContain("$defs");
  expect(names).toEqual(expect.arrayContaining(["JobInfo", "SocketRequest", "ErrorAnswer", "Caller"]));
});

test("an operation has the parameters, the scope and the responses of its contract", () => {
  const list = document.paths["/api/jobs"]?.["get"];
  expect(list).toMatchObject({
    operationId: "getJobs",
    tags: ["jobs"],
    security: [{ bearer: ["read"] }, { session: [] }],
    responses: {
      200: { content: { "application/json": { schema: { $ref: "#/components/schemas/JobPage" } } } },
      default: { content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorAnswer" } } } },
    },
  });
  expect(list?.parameters?.find(({ name }) => name === "state")).toMatchObject({
    in: "query",
    description: "Only in one of these states",
    explode: false,
    schema: { type: "array", items: { enum: expect.arrayContaining(["queued"]) } },
  });
  expect(list?.parameters?.find(({ name }) => name === "limit")?.schema).toMatchObject({
    type: "integer",
    minimum: 1,
    maximum: 500,
  });
  expect(document.paths["/api/jobs/{id}"]?.["get"]?.parameters).toEqual([
    { name: "id", in: "path", required: true, schema: { type: "string" } },
  ]);
  expect(document.paths["/api/policy/effect"]?.["get"]?.parameters?.[0]).toMatchObject({
    name: "rule",
    required: true,
  });
  expect(document.paths["/api/health"]?.["get"]?.security).toEqual([]);
  expect(document.paths["/api/session"]?.["get"]?.security).toEqual([{ bearer: [] }, { session: [] }]);
});

test("variants share an operation, and the field that selects one is a part of the body", () => {
  const { responses, requestBody } = document.paths["/api/calls"]?.["post"] ?? {};
  expect(Object.keys(responses?.["200"]?.content ?? {})).toEqual(["application/json", "text/event-stream"]);
  expect(Object.keys(responses ?? {})).toEqual(["200", "202", "default"]);
  expect(requestBody).toMatchObject({
    content: { "application/json": { schema: { $ref: "#/components/schemas/CallRequest" } } },
  });
  const request = document.components.schemas["CallRequest"];
  expect(request?.properties?.["answer"]).toEqual({
    type: "string",
    enum: ["result", "events", "background"],
    default: "result",
  });
  expect(request?.additionalProperties).toBe(false);
});

test("streams, lines and text have their media types", () => {
  const types = (path: string) => Object.keys(document.paths[path]?.["get"]?.responses["200"]?.content ?? {});
  expect(types("/api/events")).toEqual(["text/event-stream"]);
  expect(types("/api/audit/export")).toEqual(["application/jsonl"]);
  expect(types("/api/canvas/document")).toEqual(["text/html"]);
});

test("a description of the document does not change the schemas", () => {
  expect(describeApi(contracts, { version: "1.2.3" })).toEqual(document);
  expect(namedSchemas.get(contracts.calls.execute.body)?.id).toBe("CallRequest");
});
