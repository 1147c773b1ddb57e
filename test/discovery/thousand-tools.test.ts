// 1,000 tools of a real MCP server in a small context: the right one is found and called, by an agent and by MCP clients.
import { fileURLToPath } from "node:url";
import { createAgent } from "haft/agent";
import { createScriptedLanguageModel } from "haft/testing";
import type { LanguageModelRequest } from "../../src/testing/scripted-model.ts";
import { expect, test, vi } from "vitest";
import { connectHub } from "../mcp/connect-scripted.ts";
import { connectDirectly, connectV2, serveOverHttp } from "../mcp/serve-haft.ts";

const SERVER = fileURLToPath(new URL("./thousand-tools-server.mjs", import.meta.url));
const BUDGET = 2000;
const WANTED = "mcp__gateway__payroll_cancel_contract";

const openGateway = () =>
  connectHub([{ name: "gateway", transport: "stdio", command: process.execPath, args: [SERVER] } as never], {
    haft: { toolSearch: { budget: BUDGET } },
  });

const names = (shown: readonly { name: string }[] = []): string[] => shown.map(({ name }) => name);

test("an agent in a small context finds one of 1,000 MCP tools, calls it, and uses it again later", async () => {
  const { haft } = await openGateway();
  expect(haft.tools.list()).toHaveLength(1001);
  const whole = haft.settings.tokens.count(JSON.stringify(haft.tools.definitions({ budget: 10_000_000 })));
  const call = ({ tools }: LanguageModelRequest) => ({
    calls: [{ name: names(tools).find((name) => name === WANTED) ?? "not_shown", input: { id: "CON-7" } }],
  });
  const model = createScriptedLanguageModel([
    { calls: [{ name: "tool_search", input: { query: "cancel somebody's work contract in payroll", limit: 3 } }] },
    call,
    { text: "It is cancelled." },
    call,
    { text: "Cancelled again." },
  ]);
  const agent = createAgent({ haft, model });

  const first = await agent.run("Take care of CON-7.");
  expect(first).toMatchObject({ text: "It is cancelled.", stop: "done" });
  expect(JSON.stringify(first.messages)).toContain("payroll_cancel_contract was done");
  const [atFirst, next] = model.requests.map(({ tools }) => names(tools));
  expect(atFirst?.at(-1)).toBe("tool_search");
  expect(atFirst).not.toContain(WANTED);
  // What was shown stays in its place, so a provider can cache it.
  expect(next?.slice(0, atFirst?.length)).toEqual(atFirst);
  expect(JSON.stringify(model.requests[0]!.prompt[0])).toContain("There are more tools than you see");
  for (const { tools } of model.requests) {
    const tokens = haft.settings.tokens.count(JSON.stringify(tools));
    expect(tokens).toBeLessThanOrEqual(BUDGET);
    expect(tokens).toBeLessThan(whole * 0.15);
  }
  // The conversation contains the loaded tools, so they are restored with it.
  const messages = structuredClone(first.messages);
  const second = await agent.run("And once more.", { messages });
  expect(second).toMatchObject({ text: "Cancelled again.", stop: "done" });
  expect(names(model.requests[3]!.tools)).toContain(WANTED);
  // Another conversation starts with few tools.
  const other = createScriptedLanguageModel([{ text: "Hello." }]);
  await createAgent({ haft, model: other }).run("Hi");
  expect(names(other.requests[0]!.tools).at(-1)).toBe("tool_search");
});

const write = (name: string, params: string): string =>
  `<tool_call><name>${name}</name><params>${params}</params></tool_call>`;

test("a model with a text format gets the same short list, and finds the same tool", async () => {
  const { haft } = await openGateway();
  const model = createScriptedLanguageModel([
    { text: write("tool_search", "<query>find a vehicle of the fleet</query>") },
    ({ prompt }) => {
      const [, name = "not_shown"] = /(mcp__gateway__fleet_find_vehicle)/.exec(JSON.stringify(prompt[0])) ?? [];
      return { text: write(name, "<id>VEH-1</id>") };
    },
    { text: "Found it." },
  ]);
  const answer = await createAgent({ haft, model, format: "xml" }).run("Where is VEH-1?");
  expect(answer).toMatchObject({ text: "Found it.", stop: "done" });
  expect(JSON.stringify(answer.messages)).toContain("fleet_find_vehicle was done");
  for (const { prompt } of model.requests) {
    expect(haft.settings.tokens.count(JSON.stringify(prompt[0]))).toBeLessThan(BUDGET * 1.5);
  }
});

test.each([["modern"], ["legacy"]] as const)(
  "a %s MCP client lists a few of 1,000 tools, is notified when it finds more, and calls one",
  async (era) => {
    const { haft } = await openGateway();
    const onChanged = vi.fn();
    const options = { listChanged: { tools: { autoRefresh: false, onChanged } } };
    const client = await connectDirectly(haft, { era, options }, { defers: true });
    const list = async () => names((await client.listTools(undefined, { cacheMode: "refresh" })).tools);
    const first = await list();
    expect(first.at(-1)).toBe("tool_search");
    expect(first.length).toBeLessThan(50);
    await client.callTool({ name: "tool_search", arguments: { query: `select:${WANTED}` } });
    await vi.waitFor(() => expect(onChanged).toHaveBeenCalledTimes(1));
    const [found, ...more] = (await list()).slice(first.length);
    expect(found).toBeDefined();
    expect(more).toEqual([]);
    const { content } = await client.callTool({ name: found!, arguments: { id: "CON-7" } });
    expect(JSON.stringify(content)).toContain("payroll_cancel_contract was done");
    // Clients that ignore notifications are served all tools.
    const other = await connectDirectly(haft, { era });
    expect((await other.listTools()).tools).toHaveLength(1001);
  },
);

test("tools that one MCP session found are not listed for others", async () => {
  const { haft } = await openGateway();
  const { url } = await serveOverHttp(haft, { defers: true });
  const reported = { ada: vi.fn(), bob: vi.fn() };
  const connect = (as: "ada" | "bob") =>
    connectV2(url, {
      as,
      era: "legacy",
      options: { listChanged: { tools: { autoRefresh: false, onChanged: reported[as] } } },
    });
  const [ada, bob] = [await connect("ada"), await connect("bob")];
  const list = async (client: typeof ada) => (await client.listTools(undefined, { cacheMode: "refresh" })).tools;
  await ada.callTool({ name: "tool_search", arguments: { query: "merge two warehouses of the fleet", limit: 2 } });
  await vi.waitFor(() => expect(reported.ada).toHaveBeenCalledTimes(1));
  const before = await list(bob);
  expect(names(before).at(-1)).toBe("tool_search");
  expect(names(await list(ada)).slice(0, before.length)).toEqual(names(before));
  expect(await list(ada)).toHaveLength(before.length + 2);
  expect(reported.bob).not.toHaveBeenCalled();
});
