import { expect, test } from "vitest";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createClientTools } from "./tool-definitions.ts";

test("a client tool waits for its client", async () => {
  const haft = createTestHaft({
    tools: createClientTools(
      [{ function: { name: "pick" }, kind: "readonly" }, { function: { name: "send" } }],
      "browser",
    ),
  });
  expect(haft.tools.registry.get("pick")!.origin).toEqual({ type: "client", client: "browser" });
  expect(await haft.execute("pick", {}, { id: "c1" })).toMatchObject({
    status: "pending",
    pending: { kind: "client", id: "c1" },
  });
  expect(await haft.execute("send", {}, { id: "c2" })).toMatchObject({ pending: { kind: "approval" } });
});
