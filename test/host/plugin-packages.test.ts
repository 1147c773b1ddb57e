// Plugins as people write them, with the packed package: in TypeScript and JavaScript, with and without an installed haft.
import { spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client.ts";
import { childEnd } from "../setup/child-end.ts";
import { linkPackage } from "../../scripts/install-archive.mjs";
import { packedPackage } from "../setup/packed-package.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const TYPED = `import { createTool, type Plugin } from "haft";
import { z } from "zod";
const forecast = createTool({
  name: "forecast", description: "The weather", kind: "readonly",
  parameters: z.object({ city: z.string() }), run: ({ city }) => ({ city, weather: "rain" }),
});
export default { manifest: { id: "weather" }, register: (api) => void api.registerTool(forecast) } satisfies Plugin;`;
const PLAIN = `import { createTool } from "haft";
const pay = createTool({ name: "pay", description: "Pays", permission: "confirm", parameters: [], run: () => "paid" });
const send = { name: "send", description: "Sends", needsApproval: false, parameters: { type: "object", properties: { to: { type: "string" } } },
  async execute(toolCallId, params) { return { content: [{ type: "text", text: "sent to " + params.to }] }; } };
export default { manifest: { id: "office" }, register(api) { api.registerTool(pay); api.registerTool(send); } };`;
const BROKEN = `export default { manifest: { id: "broken" }, register() { throw new Error("no key is set"); } };`;

let haft: string;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  haft = await packedPackage();
}, 300_000);

beforeEach(async () => {
  const base = temporaryFolder("haft-plugins-");
  folder = join(base, "work");
  env = { PATH: process.env["PATH"] ?? "", HOME: join(base, "home"), HAFT_STATE_DIR: join(base, "state") };
  write("plugins/weather.ts", TYPED);
  write("plugins/office.mjs", PLAIN);
  write("plugins/broken.mjs", BROKEN);
  write("haft.config.yml", "plugins: [./plugins/weather.ts, ./plugins/office.mjs, ./plugins/broken.mjs]\n");
  if ((await run("trust", "--yes")).code !== 0) throw new Error("The folder could not be trusted.");
});

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

function start(...words: string[]) {
  const child = spawn(process.execPath, [join(haft, "dist", "cli", "main.js"), ...words], { cwd: folder, env });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await childEnd(child);
  });
  return child;
}

async function run(...words: string[]) {
  const child = start(...words);
  child.stdin.end();
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), childEnd(child)]);
  return { code: child.exitCode, stdout, stderr };
}

test("a plugin in a folder without node_modules works from the command line; one that fails says so", async () => {
  const sent = await run("tools", "call", "send", "to=ann");
  expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("sent to ann") });
  expect(sent.stderr).toContain('The plugin "./plugins/broken.mjs" was not loaded: no key is set');
  expect(await run("tools", "call", "forecast")).toMatchObject({ code: 5, stderr: expect.stringContaining("city") });
});

test("a plugin in a folder with a linked haft works from the command line", async () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(haft, join(folder, "node_modules", "haft"), "junction");
  linkPackage(join(folder, "node_modules"), "zod");
  const forecast = await run("tools", "call", "forecast", "city=Bonn");
  expect(forecast).toMatchObject({ code: 0, stdout: expect.stringContaining('"weather":"rain"') });
});

test("a plugin works in the server, and its approvals are asked there", async () => {
  const server = start("serve", "--port", "0", "--json");
  let output = "";
  const line = await new Promise<string>((resolve, reject) => {
    server.stdout.on("data", (chunk: Buffer) => {
      output += String(chunk);
      if (output.includes("\n")) resolve(output);
    });
    server.on("exit", () => reject(new Error(`The server ended: ${output}`)));
  });
  const { url } = JSON.parse(line) as { url: string };
  const refused = await fetch(`${url}/mcp`, { method: "POST" });
  const metadata = `${url}/.well-known/oauth-protected-resource/mcp`;
  expect(refused).toMatchObject({ status: 401 });
  expect(refused.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
  expect(await (await fetch(metadata)).json()).toMatchObject({ resource: `${url}/mcp` });
  const token = (await run("token", "create", "test", "--scope", "call")).stdout.trim();
  const client = createClient({ url, token });
  expect(await client.calls.execute({ tool: "forecast", input: { city: "Bonn" } })).toMatchObject({
    status: "completed",
    details: { weather: "rain" },
  });
  expect(await client.calls.execute({ tool: "pay", input: {} })).toMatchObject({ status: "pending" });
});

test("a plugin works over MCP, beside the coding tools; skills are prompts", async () => {
  write(
    ".agents/skills/review/SKILL.md",
    "---\nname: review\ndescription: Reviews: a change\n---\nReview $ARGUMENTS.\n",
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(haft, "dist", "cli", "main.js"), "mcp"],
    cwd: folder,
    env,
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["forecast", "pay", "send", "read", "exec"]));
  expect(names).not.toEqual(expect.arrayContaining(["web_fetch"]));
  expect(names).not.toEqual(expect.arrayContaining(["sessions_spawn"]));
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: "review", description: "Reviews: a change" }]);
  const { messages } = await client.getPrompt({ name: "review", arguments: { arguments: "the diff" } });
  expect(messages).toMatchObject([{ role: "user", content: { text: expect.stringContaining("Review the diff.") } }]);
  const result = await client.callTool({ name: "send", arguments: { to: "ann" } });
  expect(result.content).toMatchObject([{ text: "sent to ann" }]);
});
