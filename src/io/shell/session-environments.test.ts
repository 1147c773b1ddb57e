import { expect, test } from "vitest";
import { createSessionEnvironments } from "./shell-environment.ts";

const host = { HOME: "/home/ann", SERVICE_TOKEN: "t0ken", INTERNAL: "x" };

test("variables of a session are visible only to its own commands", () => {
  const environments = createSessionEnvironments({ host });
  environments.of("a").set("APP_MODE", "test");
  expect(environments.environmentOf("a")).toMatchObject({ APP_MODE: "test", HOME: "/home/ann" });
  expect(environments.environmentOf("b")).not.toHaveProperty("APP_MODE");
  expect(environments.of("a").get("APP_MODE")).toBe("test");
});

test("calls without a session share one, which no named session can reach", () => {
  const environments = createSessionEnvironments({ host });
  environments.of(undefined).set("APP_MODE", "test");
  expect(environments.environmentOf(undefined)).toHaveProperty("APP_MODE", "test");
  for (const name of ["default", "undefined", ""]) {
    expect(environments.environmentOf(name)).not.toHaveProperty("APP_MODE");
  }
});

test("only allowed or passed-on variables of the host are visible", () => {
  const environment = createSessionEnvironments({ host, passOn: ["SERVICE_TOKEN"] }).environmentOf("a");
  expect(environment).toMatchObject({ HOME: "/home/ann", SERVICE_TOKEN: "t0ken", TERM: "dumb" });
  expect(environment).not.toHaveProperty("INTERNAL");
});

test("a terminal gets a terminal type", () => {
  const environments = createSessionEnvironments({ host });
  expect(environments.environmentOf("a", { terminal: true })).toHaveProperty("TERM", "xterm-256color");
});

test("above the limit the least recently used session is dropped; reading is a use but drops nobody", () => {
  const environments = createSessionEnvironments({ host, maxSessions: 2 });
  environments.of("a").set("NAME", "a");
  environments.of("b").set("NAME", "b");
  for (const reader of ["x", "y", "z", "a"]) environments.environmentOf(reader);
  expect(environments.environmentOf("b")).toHaveProperty("NAME", "b");
  environments.environmentOf("a");
  environments.of("c").set("NAME", "c");
  expect(environments.environmentOf("a")).toHaveProperty("NAME", "a");
  expect(environments.environmentOf("b")).not.toHaveProperty("NAME");
  expect(environments.environmentOf("c")).toHaveProperty("NAME", "c");
});

test("the session without a name can be dropped like any other", () => {
  const environments = createSessionEnvironments({ host, maxSessions: 1 });
  environments.of(undefined).set("NAME", "x");
  environments.of("a").set("NAME", "a");
  expect(environments.environmentOf(undefined)).not.toHaveProperty("NAME");
  expect(environments.environmentOf("a")).toHaveProperty("NAME", "a");
});
