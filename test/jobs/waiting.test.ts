import { join } from "node:path";
import { createTool } from "haft";
import { openHaft } from "haft/host";
import { expect, onTestFinished, test, vi } from "vitest";
import { createDirectClient } from "../../src/api/direct-client.ts";
import { HostApi } from "../../src/api/host-api.ts";
import { contracts } from "../../src/contracts/index.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

test("a job says what it is about and what it waits for: its time, or a person", async () => {
  const host = await openHaft(temporaryFolder("haft-work-"), {
    home: join(temporaryFolder("haft-home-"), "home"),
    env: {},
    approvalWaitMs: 600_000,
    tools: [
      createTool({
        name: "publish",
        description: "Writes a file through the gate",
        kind: "execute",
        permission: "auto",
        parameters: [{ name: "path", type: "string", description: "Where" }],
        async run({ path }, context) {
          return (await context.call("write", { path, content: "x" })).display;
        },
      }),
    ],
  });
  onTestFinished(() => host.close());
  const handlers = new HostApi(host);
  onTestFinished(() => handlers.close());
  const identity = { id: "1", name: "ada", scopes: ["read", "call", "approve"], kind: "session" } as const;
  const api = createDirectClient(contracts, { identity, handlersOf: handlers.handlersOf });
  const caller = { user: "ada" };

  await host.haft.execute("publish", { path: "later.txt" }, { caller, background: { delayMs: 3_600_000 } });
  await host.haft.execute("publish", { path: "now.txt" }, { caller, background: true });
  const [now, later] = (await api.jobs.list()).items;
  expect(later).toMatchObject({ waitsFor: { type: "time" }, subject: { type: "path", text: "later.txt" } });
  const waiting = await vi.waitFor(async () => {
    const { waitsFor } = await api.jobs.get(now!.id);
    if (waitsFor?.type !== "approval") throw new Error(`It waits for ${waitsFor?.type}.`);
    return waitsFor;
  }, 10_000);
  expect(waiting).toMatchObject({ toolName: "write", subject: { text: "now.txt" } });
  await api.approvals.answer(waiting.approvalId, { decision: "once" });
  await vi.waitFor(async () => expect(await api.jobs.get(now!.id)).toMatchObject({ state: "completed" }), 10_000);
  expect((await api.jobs.get(now!.id)).waitsFor).toBeUndefined();
});
