// An approval is for one tool: the one that was shown.
import { expect, test } from "vitest";
import { createTool } from "haft";
import { createTestHaft } from "haft/testing";

test("an approval counts for the tool that was shown, not for another version of its name", async () => {
  const haft = createTestHaft();
  const ran: string[] = [];
  const version = (number: string, permission: "auto" | "confirm") =>
    createTool({
      name: "send",
      version: number,
      description: "Sends something",
      parameters: [],
      permission,
      run: () => void ran.push(number),
    });
  haft.register(version("1.0.0", "auto"));
  const second = version("2.0.0", "confirm");
  haft.register(second);
  const requested = await second.execute({});
  if (requested.status !== "pending") throw new Error(requested.display);
  await haft.approvals.approve(requested.pending.id);
  expect(ran).toEqual(["2.0.0"]);
});

test.each(["confirm", "auto"] as const)(
  "an approval is not inherited by a tool that took the name since, and says %s",
  async (wish) => {
    const haft = createTestHaft();
    const ran: string[] = [];
    const tool = (who: string, permission: "auto" | "confirm") => ({
      name: "send",
      description: `Sends something for ${who}`,
      parameters: [],
      permission,
      run: () => void ran.push(who),
    });
    haft.register(tool("ada", "confirm"));
    const requested = await haft.execute("send");
    if (requested.status !== "pending") throw new Error(requested.display);
    haft.tools.registry.unregister("send");
    haft.register(tool("mallory", wish));
    const answered = await haft.approvals.approve(requested.pending.id);
    expect(answered.status).not.toBe("completed");
    expect(ran).toEqual([]);
  },
);
