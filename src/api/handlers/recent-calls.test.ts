import { expect, test } from "vitest";
import { createTestHaft } from "../../testing/index.ts";
import { RecentCalls } from "./recent-calls.ts";

test("calls of several callers with one id are kept apart, and each finds their own", async () => {
  const haft = createTestHaft({
    tools: [{ name: "echo", description: "Echoes", kind: "readonly", parameters: [], run: () => "said" }],
  });
  const recentCalls = new RecentCalls();
  haft.on("*", (event) => recentCalls.note(event, 1));
  for (const user of ["ada", "bob"]) await haft.execute("echo", {}, { id: "c", caller: { session: "s", user } });
  expect(recentCalls.list({ limit: 10 }).items.map(({ caller }) => caller.user)).toEqual(["bob", "ada"]);
  expect(recentCalls.find("c", "ada")?.caller.user).toBe("ada");
  expect(recentCalls.find("c", "eve")?.caller.user).toBe("bob");
  const { caller } = recentCalls.find("c", "ada")!;
  expect(recentCalls.list({ caller, limit: 10 }).items).toHaveLength(1);
});
