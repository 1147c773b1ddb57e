import { expect, test } from "vitest";
import { createRefusedAddresses } from "./browser-program.ts";

test("a refusal is found once by any URL of its host and port", () => {
  const refused = createRefusedAddresses();
  refused.note("a.example:443", "tunnel");
  refused.note("http://b.example", "plain");
  refused.note("[::1]:8080", "literal");
  expect(refused.take("https://a.example/deep?x")).toBe("tunnel");
  expect(refused.take("https://a.example/")).toBeUndefined();
  expect(refused.take("http://b.example/x")).toBe("plain");
  expect(refused.take("http://[::1]:8080/")).toBe("literal");
  expect(refused.take("no address")).toBeUndefined();
});
