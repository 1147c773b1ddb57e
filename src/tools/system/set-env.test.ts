import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createSetEnvTool } from "./env-tools.ts";

const SECRET = "not-for-anybody";

function stage({ showSecrets = false } = {}) {
  const host = { HOME: "/home/ann", TZ: "UTC", SERVICE_TOKEN: SECRET };
  const environments = createSessionEnvironments({ host, passOn: ["SERVICE_TOKEN"] });
  const tool = createSetEnvTool({ environments, showSecrets });
  const haft = createHaft({ tools: [tool] });
  const set = (key: string, value: string | null, session?: string) =>
    haft.execute("set_env", { key, value }, session ? { caller: { session } } : {});
  return { environments, tool, haft, set };
}

describe("set_env", () => {
  test("keeps a tool's contract", async () => {
    await testTool(stage().tool, {
      badInputs: [
        {},
        { key: "A" },
        { value: "x" },
        { key: "A", value: { b: 1 } },
        { key: "A B", value: "x" },
        { key: "constructor", value: "x" },
      ],
    });
  });

  test("sets a variable for its session only and returns the previous value", async () => {
    const { environments, set } = stage();
    expect(await set("APP_MODE", "test", "a")).toMatchObject({ success: true, details: { previous: null } });
    expect(await set("APP_MODE", "live", "a")).toMatchObject({ success: true, details: { previous: "test" } });
    expect(environments.environmentOf("a")).toHaveProperty("APP_MODE", "live");
    expect(environments.environmentOf("b")).not.toHaveProperty("APP_MODE");
    expect(environments.environmentOf(undefined)).not.toHaveProperty("APP_MODE");
  });

  test("never touches the environment of this process", async () => {
    expect(await stage().set("APP_MODE_OF_TEST", "x")).toMatchObject({ success: true });
    expect(process.env).not.toHaveProperty("APP_MODE_OF_TEST");
  });

  test("returns the inherited value, and null restores it", async () => {
    const { environments, set } = stage();
    expect((await set("TZ", "Asia/Tokyo")).details).toEqual({ previous: "UTC" });
    expect((await set("TZ", null)).details).toEqual({ previous: "Asia/Tokyo" });
    expect(environments.environmentOf(undefined)).toHaveProperty("TZ", "UTC");
  });

  test.each(["PATH", "LD_PRELOAD", "ld_preload", "NODE_OPTIONS", "GIT_SSH_COMMAND", "BASH_ENV"])(
    "refuses %s and says what to do instead",
    async (key) => {
      const { environments, set } = stage();
      const before = environments.environmentOf("a");
      const result = await set(key, "/tmp/x", "a");
      expect(result).toMatchObject({ success: false, error: { code: "name_denied", data: { name: key } } });
      expect(textOf(result.content)).toMatch(/may not be set.*in front of the command/);
      expect(environments.environmentOf("a")).toEqual(before);
    },
  );

  test("does not reveal a secret as the previous value", async () => {
    const { set } = stage();
    const result = await set("SERVICE_TOKEN", "x");
    expect(result).toMatchObject({ success: true, metadata: { masked: true } });
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect((await stage({ showSecrets: true }).set("SERVICE_TOKEN", "x")).details).toEqual({ previous: SECRET });
  });

  test("does not repeat the value it was given", async () => {
    expect(JSON.stringify(await stage().set("APP_PIN", SECRET))).not.toContain(SECRET);
  });

  test("does not run in plan mode", async () => {
    const { environments, haft } = stage();
    const result = await haft.execute("set_env", { key: "APP_MODE", value: "x" }, { mode: "plan" });
    expect(result).toMatchObject({ success: false, error: { code: "plan_mode" } });
    expect(environments.environmentOf(undefined)).not.toHaveProperty("APP_MODE");
  });
});
