import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createGetEnvTool } from "./env-tools.ts";

const SECRET = "not-for-anybody";

function stage({ showSecrets = false } = {}) {
  const host = { HOME: "/home/ann", PATH: "/bin", INTERNAL: "x", OPENAI_API_KEY: SECRET, SERVICE_TOKEN: SECRET };
  const environments = createSessionEnvironments({ host, passOn: ["SERVICE_TOKEN"] });
  const tool = createGetEnvTool({ environments, showSecrets });
  const haft = createHaft({ tools: [tool] });
  const get = (key: string, session?: string) =>
    haft.execute("get_env", { key }, session ? { caller: { session } } : {});
  return { environments, tool, get };
}

describe("get_env", () => {
  test("keeps a tool's contract", async () => {
    await testTool(stage().tool, { inputs: [{ key: "NOT_SET" }], badInputs: [{}, { key: "" }, { key: 1 }] });
  });

  test("reads what commands inherit from this machine", async () => {
    const result = await stage().get("HOME");
    expect(result).toMatchObject({ success: true, details: { value: "/home/ann" }, display: "HOME=/home/ann" });
    expect(textOf(result.content)).toBe("HOME=/home/ann");
  });

  test("reads variables of its own session, which override inherited ones, and none of other sessions", async () => {
    const { environments, get } = stage();
    environments.of("a").set("APP_MODE", "test");
    environments.of("a").set("TZ", "");
    expect((await get("APP_MODE", "a")).details).toEqual({ value: "test" });
    expect((await get("TZ", "a")).details).toEqual({ value: "" });
    expect((await get("APP_MODE", "b")).details).toEqual({ value: null });
    expect((await get("APP_MODE")).details).toEqual({ value: null });
  });

  test.each(["INTERNAL", "OPENAI_API_KEY", "NOT_SET", "constructor", "__proto__", "toString"])(
    "does not know %s, which commands do not get",
    async (key) => {
      const result = await stage().get(key);
      expect(result).toMatchObject({ success: true, details: { value: null } });
      expect(textOf(result.content)).toContain("is not set");
      expect(JSON.stringify(result)).not.toContain(SECRET);
    },
  );

  test("suggests a similar name", async () => {
    expect(textOf((await stage().get("$HOME")).content)).toContain('Did you mean "HOME"?');
  });

  test("masks what looks like a secret everywhere in the result", async () => {
    const { environments, get } = stage();
    environments.of("a").set("DATABASE", `postgres://ann:${SECRET}@db/main`);
    for (const key of ["SERVICE_TOKEN", "DATABASE"]) {
      const result = await get(key, "a");
      expect(result).toMatchObject({ success: true, metadata: { masked: true } });
      expect(textOf(result.content)).toContain("masked");
      expect(result.display).toContain("masked");
      expect(JSON.stringify(result)).not.toContain(SECRET);
    }
  });

  test("shows secrets if allowed, and is then labelled as sensitive", async () => {
    const { tool, get } = stage({ showSecrets: true });
    expect(await get("SERVICE_TOKEN")).toMatchObject({ details: { value: SECRET } });
    expect(tool.labels).toEqual(["sensitive_data"]);
    expect(stage().tool.labels).toEqual([]);
  });

  test("shows a person no terminal codes", async () => {
    const { environments, get } = stage();
    environments.of("a").set("APP_MODE", "\u001b[31mred\u001b]0;title\u0007");
    expect((await get("APP_MODE", "a")).display).toBe("APP_MODE=red");
  });
});
