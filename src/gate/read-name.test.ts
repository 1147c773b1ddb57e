import { expect, test } from "vitest";
import { createHaft } from "../runtime.ts";

const HOSTILE = [Object.create(null), JSON.parse('{"toString":1,"valueOf":1}'), Symbol("name")] as never[];

test.each(HOSTILE.map((name) => [typeof name, name]))(
  "a name that is a hostile %s is an ordinary failed result",
  async (_type, name) => {
    const haft = createHaft();
    expect(await haft.execute(name)).toMatchObject({ error: { code: "tool_not_found" } });
    expect(await haft.executeMany([{ name }])).toMatchObject([{ error: { code: "tool_not_found" } }]);
  },
);

test("a name of a megabyte is cut in results, events and the log", async () => {
  const haft = createHaft();
  const names: string[] = [];
  haft.on("tool_call_requested", ({ toolName }) => void names.push(toolName));
  const { toolName } = await haft.execute("x".repeat(1_000_000));
  const recorded = await haft.calls.log.recent();
  for (const name of [toolName, ...names, ...recorded.map((record) => record.toolName)]) {
    expect(name.length).toBeLessThan(300);
  }
  expect(names).toHaveLength(1);
});
