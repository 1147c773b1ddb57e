import { expect, test } from "vitest";
import { logLine } from "./log.ts";

test("a value can neither begin a line of its own nor look like another value", () => {
  const line = logLine("refused", { status: 404, agent: '\n[ADMIN] approved" status="200', none: undefined });
  expect(line).toBe('refused status=404 agent="\\n[ADMIN] approved\\" status=\\"200"');
});

test("what a reader would not see is spelled out, and what is long is cut with its length", () => {
  expect(logLine("x", { a: "\u001b[31m\u202eevil\u0000\u200b" })).toMatch(/^x a="[\x20-\x7e]*"$/);
  const line = logLine("x", { a: "A".repeat(15_000) });
  expect(line.length).toBeLessThan(260);
  expect(line).toContain("(15000 characters)");
});

test("a value that looks like a secret is masked, also where it is cut", () => {
  const secret = `ghp_${"16C7e42F292c6912E7710c838347Ae178B4a"}`;
  expect(logLine("x", { path: `/api/calls/${secret}` })).toBe('x path="/api/calls/[hidden]"');
  expect(logLine("x", { reason: `${"A ".repeat(95)}${secret}` })).not.toContain("ghp_16");
});
