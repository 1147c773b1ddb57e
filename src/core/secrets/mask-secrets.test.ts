import { expect, test } from "vitest";
import { maskSecret } from "./mask-secrets.ts";

test.each([
  "ANTHROPIC_API_KEY",
  "AWS_SECRET_ACCESS_KEY",
  "GH_TOKEN",
  "GITHUB_PAT",
  "DB_PASSWORD",
  "PGPASSWORD",
  "MYSQL_PWD",
  "DATABASE_URL",
  "SENTRY_DSN",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "npm_config__authToken",
  "apiKey",
  "SESSION_COOKIE",
  "PRIVATE_KEY_2",
])("%s is hidden by its name", (name) => {
  expect(maskSecret(name, "plain-value")).toEqual({ value: "[hidden, 11 characters]", masked: true });
});

test.each([
  ["an OpenAI key", `sk-proj-${"a".repeat(40)}`],
  ["a GitHub token", `ghp_${"a1".repeat(18)}`],
  ["an AWS key", "AKIAIOSFODNN7EXAMPLE"],
  ["a Slack token", "xoxb-123456789012-abcdef"],
  ["a JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"],
  ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"],
  ["a header", "Bearer abcdefghijkl"],
  ["a key inside other text", `--key=sk-${"b".repeat(30)} --verbose`],
])("%s is hidden by its shape", (_, value) => {
  const shown = maskSecret("SETTING", value);
  expect(shown.masked).toBe(true);
  expect(shown.value).toBe(`[hidden, ${value.length} characters]`);
});

test("masks only the password of a URL", () => {
  expect(maskSecret("UPSTREAM", "https://me:hunter2@example.com/x, redis://:pw@host")).toEqual({
    value: "https://me:[hidden]@example.com/x, redis://:[hidden]@host",
    masked: true,
  });
});

test.each([
  ["PATH", "/usr/bin:/bin"],
  ["PWD", "/home/me"],
  ["KEYBOARD", "de"],
  ["TOKENIZERS_PARALLELISM", "false"],
  ["AUTHOR", "me"],
  ["API_URL", "https://example.com:8080/a@b"],
  ["COMPASS", "north"],
  ["GH_TOKEN", ""],
])("%s=%s is shown", (name, value) => {
  expect(maskSecret(name, value)).toEqual({ value, masked: false });
});
