import { describe, expect, test } from "vitest";
import { hideSecrets, redactSecrets } from "./mask-secrets.ts";

describe("text that may contain a secret", () => {
  test.each([
    ["curl -H 'Authorization: Bearer abcdefghij' https://x", "curl -H 'Authorization: [hidden]' https://x"],
    ["PGPASSWORD=hunter2 psql", "PGPASSWORD=[hidden] psql"],
    ["login --password hunter2 --user me", "login --password [hidden] --user me"],
    ["login --api-key=abc123 x", "login --api-key=[hidden] x"],
    ['{"client_secret": "abc def", "n": 1}', '{"client_secret": [hidden], "n": 1}'],
    ["postgres://me:hunter2@db/x", "postgres://me:[hidden]@db/x"],
    ["key sk-abcdefghijklmnopqrst.", "key [hidden]."],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[hidden]\nrest"],
    ["-----BEGIN PRIVATE KEY-----\nabc", "[hidden]"],
  ])("is shown without it: %s", (text, shown) => {
    expect(hideSecrets(text)).toBe(shown);
  });

  test.each([
    "the token expired yesterday",
    "read src/tokenizer.ts and secrets.md",
    "git commit -m 'Basic support for passwords'",
    "https://example.com:8080/path?x=1",
  ])("is unchanged without a secret: %s", (text) => {
    expect(hideSecrets(text)).toBe(text);
  });

  test("is scanned in linear time", () => {
    for (const text of [
      "token-".repeat(20_000),
      "password ".repeat(20_000),
      `secret="${"a".repeat(100_000)}`,
      "://".repeat(30_000),
    ]) {
      expect(hideSecrets(text).length).toBeGreaterThan(0);
    }
  });
});

describe("data that may contain secrets", () => {
  test("is copied without them, by name and by shape, at any depth", () => {
    const data = {
      user: "ann",
      Password: "x",
      auth: { deep: ["one", { two: "three" }], pin: 1234 },
      note: "ghp_abcdefghijklmnopqrstuvwxyz",
    };
    expect(redactSecrets(data)).toEqual({
      user: "ann",
      Password: "[hidden, 1 characters]",
      auth: { deep: ["[hidden, 3 characters]", { two: "[hidden, 5 characters]" }], pin: "[hidden]" },
      note: "[hidden]",
    });
    expect(data.Password).toBe("x");
  });

  test("is bounded in depth, width and length, and marks what is missing", () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 30; i++) deep = { deep };
    expect(JSON.stringify(redactSecrets({ deep }))).toContain("[object left out]");
    const wide = redactSecrets(Array.from({ length: 500 }, (_, i) => i)) as unknown[];
    expect(wide).toHaveLength(201);
    expect(wide.at(-1)).toBe("[300 more]");
    const all = redactSecrets(Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`k${i}`, "x".repeat(1000)])));
    expect(JSON.stringify(all).length).toBeLessThan(25_000);
  });

  test("does not leave half a secret before the cut", () => {
    const text = `${"x".repeat(1990)} ghp_${"a".repeat(36)} and more ${"y".repeat(1000)}`;
    expect(redactSecrets(text)).not.toContain("ghp_");
  });

  test("accepts any value", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const value of [undefined, null, 1n, () => 1, cycle, new Map([[1, 2]])])
      expect(() => redactSecrets(value)).not.toThrow();
    expect(Object.getPrototypeOf(redactSecrets(JSON.parse('{"__proto__": {"a": 1}}')))).toBe(Object.prototype);
  });
});
