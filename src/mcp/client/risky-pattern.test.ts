import { describe, expect, test } from "vitest";
import { z } from "zod";
import { findPatternRisk } from "./risky-pattern.ts";

describe("findPatternRisk", () => {
  test.each([
    "^(a+)+$",
    "^(a*)*$",
    "(a|a)*b",
    "(a|ab)*c",
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
  ])("refuses %s", (pattern) => {
    expect(() => new RegExp(pattern, "u")).not.toThrow();
    expect(findPatternRisk(pattern)).toBeDefined();
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
  ])("passes %s", (pattern) => {
    expect(findPatternRisk(pattern)).toBeUndefined();
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
  test.each(Object.entries(formats))("passes what Zod writes for %s", (_name, schema) => {
    const { pattern } = z.toJSONSchema(schema) as { pattern?: string };
    expect(pattern).toBeTypeOf("string");
    expect(findPatternRisk(pattern!)).toBeUndefined();
  });
});
