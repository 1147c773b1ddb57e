import { expect, test } from "vitest";
import { createEnvOverlay, shellEnvironment } from "./shell-environment.ts";

test("only listed names come from the host", () => {
  const host = {
    PATH: "/usr/bin",
    HOME: "/home/me",
    TZ: "UTC",
    LC_TIME: "de_DE.UTF-8",
    JAVA_HOME: "/opt/java",
    GH_TOKEN: "CANARY",
    DATABASE_URL: "CANARY",
    KUBECONFIG: "CANARY",
    HAFT_TOKEN: "CANARY",
    NODE_OPTIONS: "--require ./CANARY",
    LD_PRELOAD: "CANARY",
    BASH_ENV: "CANARY",
    "BASH_FUNC_ls%%": "() { echo CANARY; }",
    SOMETHING_ELSE: "CANARY",
  };
  const environment = shellEnvironment({ host });
  expect(environment).toMatchObject({ PATH: "/usr/bin", HOME: "/home/me", TZ: "UTC", LC_TIME: "de_DE.UTF-8" });
  expect(environment.JAVA_HOME).toBe("/opt/java");
  expect(JSON.stringify(environment)).not.toContain("CANARY");
});

test("a proxy is passed on unless its address contains a password", () => {
  const host = { HTTP_PROXY: "http://proxy:3128", https_proxy: "http://me:pw@proxy:3128", NO_PROXY: "localhost" };
  const environment = shellEnvironment({ host });
  expect(environment).toMatchObject({ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "localhost" });
  expect(environment).not.toHaveProperty("https_proxy");
});

test("variables that the operator names are passed on unchanged", () => {
  const host = { GH_TOKEN: "wanted", OTHER: "x" };
  expect(shellEnvironment({ host, passOn: ["GH_TOKEN"] })).toMatchObject({ GH_TOKEN: "wanted" });
});

test("the non-interactive settings override those of the host", () => {
  const environment = shellEnvironment({ host: { PAGER: "less", TERM: "xterm", NO_COLOR: "" } });
  expect(environment).toMatchObject({
    PAGER: "cat",
    GIT_PAGER: "cat",
    NO_COLOR: "1",
    GIT_TERMINAL_PROMPT: "0",
    TERM: "dumb",
  });
  expect(shellEnvironment({ host: {}, terminal: true }).TERM).toBe("xterm-256color");
});

test("a UTF-8 locale is set only if the host has none", () => {
  expect(shellEnvironment({ host: {} }).LC_ALL).toBe("C.UTF-8");
  expect(shellEnvironment({ host: { LANG: "de_DE.UTF-8" } })).not.toHaveProperty("LC_ALL");
});

test("session variables override all others", () => {
  const overlay = createEnvOverlay();
  overlay.set("LANG", "fr_FR.UTF-8");
  overlay.set("APP_MODE", "test");
  const environment = shellEnvironment({ host: { LANG: "de_DE.UTF-8" }, overlay });
  expect(environment).toMatchObject({ LANG: "fr_FR.UTF-8", APP_MODE: "test" });
});
