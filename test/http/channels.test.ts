// The message channels of a host over HTTP: never an address or a key; the test message is a call.
import { expect, onTestFinished, test } from "vitest";
import { openHaft } from "haft/host";
import { join } from "node:path";
import { serveHttp } from "../../src/server/http-server.ts";
import type { Scope } from "../../src/contracts/index.ts";
import { createClient } from "../../src/client.ts";
import { startServer } from "../setup/local-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

async function openChannelServer(permissions = {}) {
  const hook = await startServer((_request, response) => void response.writeHead(204).end());
  const folder = temporaryFolder("haft-channels-");
  const channels = {
    hook: { type: "webhook", targets: { ops: `${hook.origin}/very-secret`, dev: `${hook.origin}/dev` } },
    team: { type: "slack", token: "${SLACK_TOKEN}", targets: { general: "C1" } },
  };
  const overrides = { message: { channels }, permissions };
  const host = await openHaft(folder, { home: join(folder, "home"), env: {}, overrides });
  const server = await serveHttp(host, { port: 0 });
  onTestFinished(async () => {
    await server.close();
    await host.close();
  });
  const clientFor = async (...scopes: Scope[]) => {
    const token = await server.issueToken({ name: "ada", scopes });
    return createClient({ url: server.url, token });
  };
  return { hook, clientFor };
}

test("channels are listed by name with their problems, without addresses and keys", async () => {
  const { clientFor } = await openChannelServer();
  const client = await clientFor("read");
  expect((await client.server.info()).parts).toContain("channels");
  const { items } = await client.channels.list();
  expect(items).toEqual([
    { name: "hook", type: "webhook", targets: ["ops", "dev"], actions: ["send"] },
    {
      name: "team",
      type: "slack",
      targets: ["general"],
      actions: ["send", "reply", "edit", "delete", "react", "read"],
      problem: "set the variable SLACK_TOKEN",
    },
  ]);
  const shown = JSON.stringify([items, await client.configuration.show()]);
  expect(shown).toContain("message.channels.hook.type");
  expect(shown).not.toContain("very-secret");
});

test("a test message is a call of the user, and needs the scope approve", async () => {
  const { clientFor, hook } = await openChannelServer();
  const client = await clientFor("read", "call", "approve");
  expect(await client.channels.test("hook")).toMatchObject({ toolName: "message", success: true });
  expect(await client.channels.test("hook", { to: "dev", text: "hello" })).toMatchObject({ success: true });
  expect(hook.requests.map(({ path, body }) => [path, JSON.parse(body).text])).toEqual([
    ["/very-secret", expect.stringContaining("test message from Haft")],
    ["/dev", "hello"],
  ]);
  const { items } = await client.audit.search({ tool: "message" });
  expect(items[0]).toMatchObject({ caller: { user: "ada" } });
  expect(await client.channels.test("team")).toMatchObject({ success: false, error: { code: "failed" } });
  await expect(client.channels.test("nobody")).rejects.toMatchObject({ status: 404 });
  await expect((await clientFor("read", "call")).channels.test("hook")).rejects.toMatchObject({ status: 403 });
  expect(hook.requests).toHaveLength(2);
});

test("a deny rule also applies to the test", async () => {
  const { clientFor, hook } = await openChannelServer({ deny: ["message"] });
  const client = await clientFor("read", "call", "approve");
  expect(await client.channels.test("hook")).toMatchObject({ success: false });
  expect(hook.requests).toEqual([]);
});
