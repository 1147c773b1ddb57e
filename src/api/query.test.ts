import { expect, test } from "vitest";
import { z } from "zod";
import { checkQuery, readQuery, writeQuery } from "./query.ts";

const schema = z.strictObject({
  state: z.array(z.enum(["queued", "failed"])).optional(),
  kind: z.enum(["a", "b"]).optional(),
  limit: z.number().int().min(1).max(500).optional(),
  isOpen: z.boolean().optional(),
  text: z.string().optional(),
});
const required = z.strictObject({ rule: z.string() });

function read(text: string): object {
  return checkQuery(schema, readQuery(schema, new URLSearchParams(text)));
}

test("what a client writes is read as the same values", () => {
  const query = { state: ["queued", "failed"], kind: "b", limit: 7, isOpen: false, text: "a,b & ü=1" };
  expect(read(writeQuery(query).toString())).toEqual(query);
});

test("omitted and empty values are left out", () => {
  expect(writeQuery({ text: undefined, limit: 0 }).toString()).toBe("limit=0");
  expect(read("text=&limit=&state=")).toEqual({});
});

test("only the first of repeated values is used", () => {
  expect(read("limit=3&limit=4")).toEqual({ limit: 3 });
});

test.each([
  ["stat=failed", 'There is no query parameter "stat" here'],
  ["toString=1", 'There is no query parameter "toString" here'],
  ["limit=0", '"limit" must be a whole number from 1 to 500'],
  ["limit=501", '"limit" must be a whole number from 1 to 500'],
  ["limit=1.5", '"limit" must be a whole number from 1 to 500'],
  ["limit=1e2", '"limit" must be a whole number from 1 to 500'],
  ["limit=0x10", '"limit" must be a whole number from 1 to 500'],
  ["kind=c", '"kind" must be one of: a, b'],
  ["state=queued,broken", '"state" must be any of: queued, failed'],
  ["isOpen=yes", '"isOpen" must be true or false'],
  ["text=a%00b", 'The query parameter "text" has a NUL character'],
])("%s is refused", (text, message) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ code: "bad_request", message }));
});

test("an unknown name is answered with the known ones", () => {
  expect(() => read("stat=1")).toThrow(
    expect.objectContaining({ next: "Query parameters: state, kind, limit, isOpen, text." }),
  );
});

test("a required parameter may not be missing", () => {
  expect(() => checkQuery(required, {})).toThrow('The query parameter "rule" is missing');
});
