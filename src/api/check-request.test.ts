import { expect, test } from "vitest";
import { calls } from "../contracts/calls.ts";
import { jobs } from "../contracts/jobs.ts";
import { server } from "../contracts/server.ts";
import { session } from "../contracts/session.ts";
import { byRoute, checkInput, checkScope, selectVariant, type Variants } from "./check-request.ts";

const reader = { id: "1", name: "ci", scopes: ["read"], kind: "token" } as const;

test("the scope of the endpoint is required, unless it is public or needs any token", () => {
  expect(() => checkScope(jobs.list, reader)).not.toThrow();
  expect(() => checkScope(server.health, { ...reader, scopes: [] })).not.toThrow();
  expect(() => checkScope(session.show, { ...reader, scopes: [] })).not.toThrow();
  expect(() => checkScope(jobs.cancel, reader)).toThrow(
    'This request needs the scope "call", and the token "ci" has read',
  );
});

test("an omitted body is an empty object, and an endpoint without a body gets none", () => {
  expect(checkInput(jobs.cancel, { params: { id: "1" } })).toEqual({ params: { id: "1" }, query: {}, body: {} });
  expect(checkInput(jobs.retry, { params: { id: "1" }, body: { x: 1 } }).body).toBeUndefined();
});

test("every issue of a body is named with its path and the name of the schema", () => {
  const refused = expect.objectContaining({
    code: "bad_request",
    message: expect.stringMatching(/^The body is not a valid CallRequest: tool: .+; policy\.deny\.0: .+/),
    data: { issues: [expect.stringMatching(/^tool: /), expect.stringMatching(/^policy\.deny\.0: /)] },
  });
  expect(() => checkInput(calls.execute, { params: {}, body: { tool: 1, policy: { deny: [""] } } })).toThrow(refused);
});

test("an endpoint without a query refuses every query parameter", () => {
  expect(() => checkInput(jobs.get, { params: { id: "1" }, query: { x: "1" } })).toThrow(
    'There is no query parameter "x" here',
  );
});

test("a NUL character in the path is refused", () => {
  expect(() => checkInput(jobs.get, { params: { id: "a\0" } })).toThrow('The path parameter "id" has a NUL character');
});

test("the body selects the variant, and the field that selects is removed", () => {
  const variants: Variants = [calls.execute, calls.stream, calls.start];
  expect(selectVariant(variants, { tool: "read" })).toEqual({ endpoint: calls.execute, body: { tool: "read" } });
  expect(selectVariant(variants, { tool: "read", answer: "events" })).toEqual({
    endpoint: calls.stream,
    body: { tool: "read" },
  });
  expect(selectVariant(variants, { answer: "background" }).endpoint).toBe(calls.start);
  for (const body of ["text", null]) {
    expect(selectVariant(variants, body)).toEqual({ endpoint: calls.execute, body });
    expect(selectVariant([calls.stream, calls.execute], body).endpoint).toBe(calls.execute);
  }
  expect(() => selectVariant(variants, { answer: "later" })).toThrow(
    '"answer" must be one of: result, events, background',
  );
  const { body } = selectVariant([jobs.cancel], { answer: "events" });
  expect(body).toEqual({ answer: "events" });
});

test("endpoints with the same method and path are variants of one route", () => {
  const routes = byRoute({ calls, jobs });
  const { method, path } = calls.execute;
  expect(routes.get(`${method} ${path}`)).toEqual(expect.arrayContaining([calls.execute, calls.stream, calls.start]));
  expect(routes.get("GET /api/jobs")).toEqual([jobs.list]);
  const endpoints = [...Object.values(calls), ...Object.values(jobs)];
  expect([...routes.values()].flat()).toHaveLength(endpoints.length);
});
