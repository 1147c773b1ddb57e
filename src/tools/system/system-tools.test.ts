import { expect, test } from "vitest";
import { createHaft } from "../../runtime.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createSystemTools } from "../tool-families.ts";

test("the system tools share one environment for each session", async () => {
  const environments = createSessionEnvironments({ host: {} });
  const tools = createSystemTools({ clock: createFakeClock(), environments });
  expect(tools.map(({ name, kind }) => `${name} ${kind}`)).toEqual(
    expect.arrayContaining(["current_time readonly", "sleep readonly", "get_env readonly", "set_env write"]),
  );
  for (const tool of tools) expect(tool).toMatchObject({ category: "system", origin: { type: "builtin" } });

  const haft = createHaft({ tools });
  const caller = { session: "a" };
  await haft.execute("set_env", { key: "APP_MODE", value: "test" }, { caller });
  expect((await haft.execute("get_env", { key: "APP_MODE" }, { caller })).details).toEqual({ value: "test" });
  expect((await haft.execute("get_env", { key: "APP_MODE" })).details).toEqual({ value: null });
});
