// Artifacts over HTTP and MCP.
import { describe, expect, onTestFinished, test } from "vitest";
import { join } from "node:path";
import { openHaft } from "haft/host";
import { createTestHaft } from "haft/testing";
import { createArtifactManager, createArtifactTools } from "haft/workspace";
import { createArtifactsApi, serveArtifacts } from "../../src/capabilities/artifacts.ts";
import { connectV2, serveOverHttp } from "../mcp/serve-haft.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openCheckedClient } from "./checked-client.ts";
import { openTestServer } from "./open-server.ts";

async function openArtifacts() {
  const manager = createArtifactManager();
  const tools = createArtifactTools(manager);
  const api = await openTestServer({ haft: { tools }, api: { artifacts: () => createArtifactsApi(manager) } });
  return { manager, api, client: await openCheckedClient(api, "read", "call") };
}

describe("artifacts over HTTP", () => {
  test("are listed by session and by pages, read in any version, and compared", async () => {
    const { client } = await openArtifacts();
    const run = (tool: string, input: object, session = "s") => client.calls.execute({ tool, input, session });
    await run("create_artifact", { id: "报告", title: "Report", content: "one\ntwo\n" });
    await run("update_artifact", { id: "报告", old_str: "two", new_str: "three" });
    await run("create_artifact", { id: "other", content: "x" }, "t");
    await client.calls.execute({ tool: "create_artifact", input: { id: "loose", content: "x" } });
    const all = await client.artifacts.list({ limit: 2 });
    expect(all.items).toHaveLength(2);
    const rest = await client.artifacts.list({ limit: 2, cursor: all.next! });
    expect([...all.items, ...rest.items].map(({ id }) => id).sort()).toEqual(["loose", "other", "报告"]);
    expect((await client.artifacts.list({ session: "s" })).items).toMatchObject([{ id: "报告", version: 2 }]);
    expect(await client.artifacts.get("报告", { session: "s" })).toMatchObject({
      title: "Report",
      session: "s",
      version: 2,
      content: "one\nthree\n",
      shown: { version: 2, type: "update", author: { user: "read+call" } },
    });
    expect(await client.artifacts.get("报告", { session: "s", version: 1 })).toMatchObject({ content: "one\ntwo\n" });
    expect(await client.artifacts.get("loose")).not.toHaveProperty("session");
    expect((await client.artifacts.versions("报告", { session: "s" })).items.map(({ type }) => type)).toEqual([
      "update",
      "create",
    ]);
    expect(await client.artifacts.diff("报告", { session: "s" })).toMatchObject({
      ...{ from: 1, to: 2, added: 1, removed: 1, truncated: false },
      text: expect.stringContaining("-two\n+three"),
    });
  });

  test("that do not exist, or have another session, are not found", async () => {
    const { client, api } = await openArtifacts();
    await client.calls.execute({ tool: "create_artifact", input: { id: "doc", content: "x" }, session: "s" });
    await expect(client.artifacts.get("doc")).rejects.toMatchObject({ status: 404 });
    await expect(client.artifacts.get("doc", { session: "s", version: 2 })).rejects.toMatchObject({ status: 404 });
    await expect(client.artifacts.versions("none", { session: "s" })).rejects.toMatchObject({ status: 404 });
    await expect(client.artifacts.diff("doc", { session: "s", from: 9 })).rejects.toMatchObject({ status: 404 });
    await expect(client.artifacts.get("doc", { session: "s", version: 0 })).rejects.toMatchObject({ status: 400 });
    const caller = await openCheckedClient(api, "call");
    await expect(caller.artifacts.list()).rejects.toMatchObject({ status: 403 });
  });
});

test("an MCP client reads the artifacts of its session, and is notified when they change", async () => {
  const manager = createArtifactManager();
  const source = serveArtifacts(manager);
  const who = { id: "a", name: "ann", rights: ["call"], session: "mcp:a" };
  const reported: (string | undefined)[] = [];
  const stop = source.onChanged!((uri) => reported.push(uri));
  await manager.create({ session: "mcp:a", id: "报告", title: "Report", content: "one" }, { author: {} });
  await manager.create({ session: "mcp:b", id: "theirs", content: "secret" }, { author: {} });
  await manager.rewrite({ session: "mcp:a", id: "报告" }, { content: "two" }, { author: {} });
  stop();
  const uri = `haft://artifact/${encodeURIComponent("报告")}`;
  expect(reported).toEqual([undefined, undefined, uri]);
  expect(await source.list!(who)).toMatchObject([{ uri, name: "报告", title: "Report", mimeType: "text/markdown" }]);
  expect(await source.read(uri, who)).toEqual({ mimeType: "text/markdown", text: "two" });
  expect(await source.read(`${uri}/1`, who)).toMatchObject({ text: "one" });
  for (const wrong of ["haft://artifact/theirs", `${uri}/9`, "haft://artifact/%zz", "haft://output/x"]) {
    expect(await source.read(wrong, who), wrong).toBeUndefined();
  }
  expect(await source.list!({ ...who, session: undefined as never })).toEqual([]);
  expect(await source.valuesOf!("haft://artifact/{id}", "id", who)).toEqual(["报告"]);
  expect(await source.valuesOf!("haft://output/{id}", "id", who)).toBeUndefined();
});

test("an MCP client finds the artifacts that it made among its resources, and another client does not", async () => {
  const manager = createArtifactManager();
  const haft = createTestHaft({ tools: createArtifactTools(manager) });
  const { url } = await serveOverHttp(haft, { resources: [serveArtifacts(manager)] });
  const [ada, bob] = [await connectV2(url, { as: "ada" }), await connectV2(url, { as: "bob" })];
  await ada.callTool({ name: "create_artifact", arguments: { id: "plan", content: "# Plan" } });
  const urisOf = async (client: typeof ada) => (await client.listResources()).resources.map(({ uri }) => uri);
  expect(await urisOf(ada)).toContain("haft://artifact/plan");
  expect(await urisOf(bob)).not.toContain("haft://artifact/plan");
  expect((await ada.readResource({ uri: "haft://artifact/plan" })).contents).toMatchObject([{ text: "# Plan" }]);
  await expect(bob.readResource({ uri: "haft://artifact/plan" })).rejects.toThrow(/not found/i);
});

test("a host keeps its artifacts over a restart, with outputs if that is configured", async () => {
  const root = temporaryFolder("haft-artifacts-");
  const open = () =>
    openHaft(root, { home: join(root, "home"), env: {}, overrides: { artifacts: { keepOutputs: true } } });
  const first = await open();
  const caller = { session: "s" };
  await first.haft.execute("create_artifact", { id: "doc", content: "kept" }, { caller });
  const long = await first.haft.execute("json_stringify", { data: "x".repeat(90_000) }, { id: "big", caller });
  expect(long.metadata.spill?.ref).toBe('artifact:["s","output-big"]');
  await first.close();
  const second = await open();
  onTestFinished(() => second.close());
  expect(await second.haft.execute("list_artifacts", {}, { caller })).toMatchObject({
    details: { artifacts: [{ id: "output-big", origin: "output" }, { id: "doc" }] },
  });
});
