// Actions of people over HTTP are in the audit log.
import { expect, onTestFinished, test } from "vitest";
import { loadConfig, openHaft } from "haft/host";
import { serveHttp } from "haft/server";
import type { Scope } from "../../src/contracts/identity.ts";
import { makeHostFolder } from "../mission/open-host.ts";
import { openCheckedClient } from "./checked-client.ts";

test("new and revoked tokens and actions on MCP servers are recorded with the user", async () => {
  const config = { mcpServers: { gone: { command: "no-such-program-here" } } };
  const { open, folder, home } = makeHostFolder({ "haft.config.json": JSON.stringify({ tools: config }) });
  const overrides = { tools: { mcpServers: config.mcpServers } } as never;
  const host = await open({ overrides });
  expect((await loadConfig({ folder, home, env: {}, overrides })).mcpServers).toHaveLength(1);
  const server = await serveHttp(host, { port: 0 });
  onTestFinished(() => server.close());
  const tokenFor = (...scopes: Scope[]) => server.issueToken({ name: scopes.join("+"), scopes });
  const admin = await openCheckedClient({ server, tokenFor }, "read", "approve", "admin");
  const { id } = await admin.tokens.create({ name: "ci", scopes: ["read"] });
  await admin.tokens.revoke(id);
  await admin.mcp.act("gone", { action: "disable_tool", tool: "write" });
  await expect(admin.mcp.act("gone", { action: "approve_launch", hash: "another" })).rejects.toMatchObject({
    code: "conflict",
  });
  const { entries } = await host.store.audit.query({ kind: ["config_changed", "trust", "note"] });
  expect(entries.map(({ kind, data }) => [kind, data["action"], data["by"]])).toEqual([
    ["note", "mcp_approve_launch", "read+approve+admin"],
    ["trust", "mcp_approve_launch", "read+approve+admin"],
    ["config_changed", "mcp_disable_tool", "read+approve+admin"],
    ["config_changed", "credential_revoked", "read+approve+admin"],
    ["config_changed", "credential_created", "read+approve+admin"],
  ]);
  expect(await host.store.pins.switchedOff("gone")).toEqual(["write"]);
});

test("a configuration that switches the audit log off is refused", async () => {
  const { folder, home } = makeHostFolder();
  const opening = openHaft(folder, { home, env: {}, overrides: { audit: { enabled: false } } });
  await expect(opening).rejects.toThrow(/audit\.enabled.*cannot be switched off/);
});
