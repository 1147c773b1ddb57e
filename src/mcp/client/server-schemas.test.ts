import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toUsableSchema } from "./server-schemas.ts";

const use = (pattern: string) => () => toUsableSchema({ type: "string", pattern });

describe("the pattern of a server's schema", () => {
  test.each([
    "^(a+)+$",
    "^(a*)*$",
    "(a|a)*b",
    "^([a-zA-Z0-9]+\\s?)+$",
    "(\\w|\\d)+$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(x+x+)+y",
    "(.*)*",
    "(a{1,30}){1,30}$",
    "((a|b)*c?)*$",
    "(?:\\p{L}+|[a-z]+)*$",
    "(?=(a+)+$)b",
    "(\\u0061|a)+$",
    "([\\s\\S]|x)+$",
    "(a)\\1",
  ])("is rejected if it could take forever: %s", (pattern) => {
    expect(() => new RegExp(pattern, "u")).not.toThrow();
    expect(use(pattern)).toThrow(TypeError);
  });

  test.each([
    "^[a-z0-9_-]{1,64}$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(?:[a-z]+\\.)+[a-z]{2,}$",
    "^https?://[^\\s]+$",
    "^(a|b)*$",
    "^((a|b)*c)*$",
    "^#[\\da-f]{6}(?:[\\da-f]{2})?$",
    "^(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$",
    "",
  ])("is accepted if it is harmless: %s", (pattern) => {
    expect(use(pattern)).not.toThrow();
  });

  const formats = {
    email: z.email(),
    uuid: z.uuid(),
    datetime: z.iso.datetime(),
    ipv4: z.ipv4(),
    ipv6: z.ipv6(),
    base64: z.base64(),
    cuid: z.cuid2(),
    nanoid: z.nanoid(),
    duration: z.iso.duration(),
  };
  test.each(Object.entries(formats))("is accepted if Zod wrote it for %s", (_name, schema) => {
    const { pattern } = z.toJSONSchema(schema) as { pattern?: string };
    expect(pattern).toBeTypeOf("string");
    expect(use(pattern!)).not.toThrow();
  });
});

test("a pattern without Unicode support makes the schema unusable, with the reason", () => {
  expect(use("[\\w-.]+")).toThrow(/is invalid/);
  expect(use("(")).toThrow(TypeError);
  expect(use("a".repeat(2001))).toThrow(/longer/);
});
