// Tool search learns at every entrance, keeps it per workspace and user, and forgets it on request.
import { setTimeout as delay } from "node:timers/promises";
import { createHaft, createTool } from "haft";
import { createAgent } from "haft/agent";
import { createScriptedLanguageModel } from "haft/testing";
import { expect, test } from "vitest";
import { connectV2, serveOverHttp } from "../mcp/serve-haft.ts";
import { openHostCli } from "../cli/open-host-cli.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const ledger = createTool({
  name: "ledger_post",
  description: "Posts an entry to the ledger",
  kind: "readonly",
  parameters: [],
  run: () => "posted",
});
const QUERY = "entry to reimburse travel expenses";
const QUESTION = "give me my travel expenses back";

const open = (toolSearch: object = {}, folder = temporaryFolder("haft-learning-")) =>
  openHostCli(folder, { tools: [ledger], overrides: { toolSearch: { budget: 300, ...toolSearch } } });

type Host = Awaited<ReturnType<typeof open>>["host"];
const finds = ({ haft }: Host, caller: object) =>
  haft.tools.search(QUESTION, { caller }).some(({ name }) => name === "ledger_post");

test("the library, MCP over HTTP, the HTTP API and the command line teach, each for its own user", async () => {
  const { host, haft: cli } = await open();
  const { haft } = host;
  const caller = { user: "lib", session: "s" };
  await haft.execute("tool_search", { query: QUERY }, { caller });
  await haft.execute("ledger_post", {}, { caller });
  const { url } = await serveOverHttp(haft);
  const [ada, bob] = [await connectV2(url, { as: "ada" }), await connectV2(url, { as: "bob" })];
  await ada.callTool({ name: "tool_search", arguments: { query: QUERY } });
  await bob.callTool({ name: "ledger_post", arguments: {} });
  expect([finds(host, { user: "ada" }), finds(host, { user: "bob" })]).toEqual([false, false]);
  await ada.callTool({ name: "ledger_post", arguments: {} });
  await cli("tools", "call", "tool_search", `query=${QUERY}`, "--session", "terminal");
  await cli("tools", "call", "ledger_post", "--session", "terminal");
  const users = ["lib", "ada", "ann", "bob", undefined];
  expect(users.map((user) => finds(host, { user }))).toEqual([true, true, true, false, false]);
  expect((await cli("tools", "search", QUESTION)).stdout).toContain("ledger_post");

  expect((await cli("tools", "forget", "read")).stdout).toContain("Nothing was learned.");
  expect((await cli("tools", "forget", "ledger_post")).stdout).toContain("about 1 tool.");
  expect(users.map((user) => finds(host, { user }))).toEqual([true, true, false, false, false]);
});

test("what was learned survives a restart, and another workspace of the same user does not have it", async () => {
  const folder = temporaryFolder("haft-learning-");
  const caller = { user: "ada", session: "s" };
  const { openHaft } = await import("haft/host");
  const options = { home: folder, env: {}, tools: [ledger] };
  const first = await openHaft(folder, options);
  await first.haft.execute("tool_search", { query: QUERY }, { caller });
  await first.haft.execute("ledger_post", {}, { caller });
  await first.close();
  const { host: second } = await open({}, folder);
  expect(finds(second, { user: "ada" })).toBe(true);
  const { host: other } = await open();
  expect(finds(other, { user: "ada" })).toBe(false);
});

test("an agent teaches with its user's message only if that is chosen", async () => {
  for (const learnFrom of ["searches", "messages"] as const) {
    const { host } = await open({ learnFrom });
    const model = createScriptedLanguageModel([{ calls: [{ name: "ledger_post", input: {} }] }, { text: "Done." }]);
    const agent = createAgent({ haft: host.haft, model });
    await agent.run("Please reimburse my travel expenses.", { caller: { user: "ada", session: "s" } });
    expect(finds(host, { user: "ada" })).toBe(learnFrom === "messages");
  }
});

test("an agent learns what the user typed, not the text that a command expands to", async () => {
  const { host } = await open({ learnFrom: "messages" });
  const model = createScriptedLanguageModel([{ calls: [{ name: "ledger_post", input: {} }] }, { text: "Done." }]);
  const agent = createAgent({ haft: host.haft, model });
  const caller = { user: "ada", session: "s" };
  await agent.run("Please reimburse my travel expenses.", { caller, userMessage: "/payday now" });
  expect(finds(host, caller)).toBe(false);
  expect(host.haft.tools.search("payday", { caller }).map(({ name }) => name)).toEqual(["ledger_post"]);
});

test("an agent waits for a store that needs time, so its definitions stay the same", async () => {
  const parameters = { type: "object", properties: { id: { type: "string" } } } as const;
  const tools = Array.from({ length: 40 }, (_, at) => ({
    ...{
      name: `crm_${at}`,
      description: `Does number ${at} in the CRM`,
      parameters,
      needsApproval: false,
      run: () => "done",
    },
    origin: { type: "mcp", server: "crm" } as const,
  }));
  const rows = [{ tool: "crm_39", questions: [], uses: 3, lastUsedAt: Date.now() }];
  const store = { load: () => delay(20, rows), add: () => undefined, forget: () => 0 };
  const haft = createHaft({ tools, toolSearch: { budget: 1000, store } });
  const search = { name: "tool_search", input: { query: "xylophone" } };
  const model = createScriptedLanguageModel([{ calls: [search] }, { text: "Done." }]);
  await createAgent({ haft, model }).run("Hello", { caller: { user: "ada", session: "s" } });
  const [first, second] = model.requests.map((request) => request.tools?.map(({ name }) => name));
  expect(first).toContain("crm_39");
  expect(second).toEqual(first);
  await haft.shutdown();
});

test("the configuration turns search off with false; what was learned before can still be forgotten", async () => {
  const folder = temporaryFolder("haft-learning-");
  const { openHaft } = await import("haft/host");
  const before = await openHaft(folder, { home: folder, env: {}, tools: [ledger] });
  await before.haft.execute("ledger_post", {}, { caller: { user: "ann", session: "s" } });
  await before.close();
  const { host, haft: cli } = await openHostCli(folder, { overrides: { toolSearch: false } });
  expect(host.haft.tools.registry.has("tool_search")).toBe(false);
  expect((await cli("tools", "forget")).stdout).toContain("about 1 tool.");
  expect((await cli("tools", "forget")).stdout).toContain("Nothing was learned.");
});
