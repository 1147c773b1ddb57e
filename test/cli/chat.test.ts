// `haft chat` and `haft run` at a real terminal, before a server that speaks the OpenAI chat protocol.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ChatTurn, startChatServer } from "../../src/models/agent/chat-server.fixture.ts";
import { bundleHaft, type HaftProgram } from "./run-haft.ts";

let haft: HaftProgram;
beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

async function atTerminal(words: readonly string[], script: readonly ChatTurn[]) {
  const server = await startChatServer(script);
  const settings = `${haft.folder}-settings`;
  mkdirSync(join(settings, "haft"), { recursive: true });
  writeFileSync(
    join(settings, "haft/config.json"),
    JSON.stringify({ agent: { model: "mine/m", baseUrl: server.url } }),
  );
  return { ...server, terminal: haft.onTerminal(words, { env: { XDG_CONFIG_HOME: settings } }) };
}

const made = (): boolean => existsSync(join(haft.folder, "made.txt"));
const touch = { calls: [{ name: "exec", input: { command: "touch made.txt" } }] };

test("a chat goes on from line to line, asks for a yes between them, and ends with Ctrl-D", async () => {
  const { terminal, requests } = await atTerminal(["chat"], [{ text: "Hello Ann." }, touch, { text: "It is made." }]);
  await terminal.waitForScreen(/› /);
  terminal.type("I am Anx\x7fn.\r");
  await terminal.waitForScreen(/Hello Ann\.[\s\S]*› /);
  terminal.type("Make made.txt\r");
  await terminal.waitForScreen(/q = leave open/);
  expect(made()).toBe(false);
  await terminal.press("y", /It is made\.[\s\S]*› /);
  expect(made()).toBe(true);
  terminal.type("\x04");
  expect(await terminal.ended).toBe(0);
  expect(requests[0]!.messages.at(-1)).toMatchObject({ role: "user", content: "I am Ann." });
  expect(requests[1]!.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
}, 60_000);

test("Ctrl-C at the reason of a no goes back to the choices; the question is not printed again", async () => {
  const { terminal } = await atTerminal(["chat"], [touch, { text: "It is made." }]);
  await terminal.waitForScreen(/› /);
  terminal.type("Make made.txt\r");
  await terminal.waitForScreen(/touch made\.txt[\s\S]*q = leave open/);
  await terminal.press("n", /why not\?/);
  terminal.type("\x03");
  await terminal.waitForScreen(/why not\?[\s\S]*q = leave open/);
  expect(terminal.text.match(/asks for permission/g)).toHaveLength(1);
  await terminal.press("y", /It is made\.[\s\S]*› /);
  expect(made()).toBe(true);
  terminal.type("\x04");
  expect(await terminal.ended).toBe(0);
}, 60_000);

test("Ctrl-C stops the turn of a chat and not the chat; at the prompt it ends it", async () => {
  const { terminal, requests } = await atTerminal(["chat"], [{ hang: true }, { text: "Here again." }]);
  await terminal.waitForScreen(/› /);
  terminal.type("Think.\r");
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  terminal.type("\x03");
  await terminal.waitForScreen(/Stopped\.[\s\S]*› /);
  terminal.type("Still there?\r");
  await terminal.waitForScreen(/Here again\.[\s\S]*› /);
  terminal.type("\x03");
  expect(await terminal.ended).toBe(0);
}, 60_000);

test("Ctrl-C ends a run while its model thinks, with 130", async () => {
  const { terminal, requests } = await atTerminal(["run", "Think."], [{ hang: true }]);
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  terminal.type("\x03");
  expect(await terminal.ended).toBe(130);
  expect(terminal.text).toContain("Stopped.");
}, 60_000);

test("Ctrl-C ends a run while its tool works: the call is told to stop, and recorded", async () => {
  const { terminal, requests } = await atTerminal(
    ["run", "Wait."],
    [{ calls: [{ name: "sleep", input: { duration: 25 } }] }, { text: "never" }],
  );
  await terminal.waitForScreen(/→ sleep/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  terminal.type("\x03");
  expect(await terminal.ended).toBe(130);
  expect(requests).toHaveLength(1);
  const { items } = JSON.parse((await haft.run(["audit", "query", "--json"])).stdout) as { items: object[] };
  expect(items[0]).toMatchObject({ type: "call_ended", errorCode: "cancelled" });
}, 60_000);

test("a run asks at the terminal, and a no is told to the model", async () => {
  const { terminal, requests } = await atTerminal(["run", "Make it."], [touch, { text: "Then not." }]);
  await terminal.waitForScreen(/q = leave open/);
  await terminal.press("n", /why not\?/);
  terminal.type("not today\r");
  expect(await terminal.ended).toBe(0);
  expect(JSON.stringify(requests[1]!.messages.at(-1))).toContain("not today");
  expect(terminal.text).toContain("Then not.");
  expect(made()).toBe(false);
}, 60_000);
