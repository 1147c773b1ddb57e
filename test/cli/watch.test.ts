// `haft approvals watch` and `show` at a real terminal: keys, counts, Ctrl-C and another width.
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { openHaft } from "../../src/host.ts";
import { serveHttp } from "../../src/server/http-server.ts";
import { issueToken, MemoryTokenStore } from "../../src/store/tokens.ts";
import { until } from "../setup/until.ts";
import { bundleHaft, type HaftProgram } from "./run-haft.ts";

let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

/** Another process of the same folder, whose calls wait for a yes. */
async function openCaller() {
  const host = await openHaft(haft.folder, { env: haft.env, approvalWaitMs: false });
  onTestFinished(() => host.close());
  const ask = async (tool: string, input: object): Promise<string> => {
    const result = await host.haft.execute(tool, input, { caller: { user: "ann" } });
    if (result.status !== "pending") throw new Error(`${tool} did not ask: ${result.status}`);
    return result.pending.id;
  };
  const fail = async (tool: string, input: object): Promise<void> => {
    expect(await host.haft.execute(tool, input)).toMatchObject({ status: "failed" });
  };
  return { host, ask, fail, stateOf: async (id: string) => (await host.haft.approvals.get(id))?.state };
}

const PLAIN = { cols: 80, env: { NO_COLOR: "1" } };
const write = (name: string): [string, object] => ["write", { path: name, content: `${name} has this text\n` }];

test("one question is shown at a time with its number; keys move, jump, list, approve and deny with a reason", async () => {
  const { ask, stateOf } = await openCaller();
  const ids = [
    await ask(...write("a.txt")),
    await ask("exec", { command: "touch b && touch c" }),
    await ask(...write("d.txt")),
  ];
  const watching = haft.onTerminal(["approvals", "watch"], PLAIN);
  await watching.waitForScreen(/new file a\.txt \+1[\s\S]*1 of 3 \|/);
  watching.type("j");
  await watching.waitForScreen(/\| touch b\r?\n[\s\S]*\| && touch c[\s\S]*2 of 3 \|/);
  watching.type("3\r");
  await watching.waitForScreen(/new file d\.txt[\s\S]*3 of 3 \|/);
  watching.type("l");
  await watching.waitForScreen(
    /# +id +risk +subject[\s\S]*2 +apr_\w{8} +\S+ \w+ +touch b && touch c[\s\S]*3 wait for an answer/,
  );
  await watching.press("y\r", /→ approved, once: d\.txt[\s\S]*completed write/);
  expect(readFileSync(join(haft.folder, "d.txt"), "utf8")).toBe("d.txt has this text\n");
  watching.type("u");
  await watching.waitForScreen(/Undone: .*d\.txt/);
  expect(existsSync(join(haft.folder, "d.txt"))).toBe(false);
  watching.type("U");
  await watching.waitForScreen(/Redone: .*d\.txt/);
  expect(existsSync(join(haft.folder, "d.txt"))).toBe(true);
  await watching.press("r", /why not\?/);
  watching.type("not today\r");
  await until(async () => (await stateOf(ids[1] ?? "")) === "denied");
  // A question that comes meanwhile is counted; what is being read stays.
  await watching.waitForScreen(/1 of 1 \|/);
  const before = watching.text.length;
  await ask(...write("e.txt"));
  await watching.waitForScreen(/1 of 2, 1 new \|/);
  expect(watching.text.slice(before)).not.toContain("new file e.txt");
  watching.type("q");
  expect(await watching.ended).toBe(0);
  expect(await stateOf(ids[0] ?? "")).toBe("pending");
}, 60_000);

test("several are approved at once after a typed yes, critical ones not among them", async () => {
  const { ask, stateOf } = await openCaller();
  const [one, , danger] = [
    await ask(...write("a.txt")),
    await ask(...write("b.txt")),
    await ask("exec", { command: "rm -rf src" }),
  ];
  const watching = haft.onTerminal(["approvals", "watch"], PLAIN);
  await watching.waitForScreen(/1 of 3 \|/);
  watching.type("b");
  await watching.waitForScreen(/1 other is answered one by one: critical[\s\S]*Which\?/);
  watching.type("all\r");
  await watching.waitForScreen(/new file a.txt[\s\S]*new file b.txt[\s\S]*Approve 2 once: 2 . MEDIUM[\s\S]*Type yes:/);
  watching.type("yes\r");
  await watching.waitForScreen(/→ 2 approved, once[\s\S]*rm -rf src/);
  await until(async () => (await stateOf(one)) === "approved" && existsSync(join(haft.folder, "b.txt")));
  // A critical yes takes more than a key.
  await watching.press("y", /Type yes to approve it:/);
  watching.type("\r");
  await watching.waitForScreen(/approve it: [\s\S]*1 of 1 \|/);
  expect(await stateOf(danger)).toBe("pending");
  watching.type("\x03");
  expect(await watching.ended).toBe(130);
}, 60_000);

test("Ctrl-C ends it at once, also where a reason is typed, and the question stays open", async () => {
  const { ask, stateOf } = await openCaller();
  const id = await ask(...write("a.txt"));
  const watching = haft.onTerminal(["approvals", "watch"], PLAIN);
  await watching.press("r", /why not\?/);
  watching.type("bec\x03");
  expect(await watching.ended).toBe(130);
  expect(await stateOf(id)).toBe("pending");
}, 60_000);

test("goes on after a restart of the server, and says so while it is away", async () => {
  const { host, ask } = await openCaller();
  const tokens = new MemoryTokenStore();
  const { token } = await issueToken(tokens, host.haft.settings.clock, { name: "ann", scopes: ["read", "approve"] });
  const first = await serveHttp(host, { port: 0, tokens });
  onTestFinished(() => first.close());
  const env = { ...PLAIN.env, HAFT_TOKEN: token };
  await ask(...write("a.txt"));
  const watching = haft.onTerminal(["approvals", "watch", "--url", first.url], { ...PLAIN, env });
  await watching.waitForScreen(/new file a\.txt \+1[\s\S]*1 of 1 \|/);
  await first.close();
  await watching.waitForScreen(/The server does not answer\. Trying again… ›/);
  const second = await serveHttp(host, { port: first.port, tokens });
  onTestFinished(() => second.close());
  await ask(...write("b.txt"));
  await watching.waitForScreen(/1 of 2, 1 new \|/);
  expect(watching.text.match(/does not answer/g)).toHaveLength(1);
  watching.type("q");
  expect(await watching.ended).toBe(0);
  await second.close();
  const late = haft.onTerminal(["approvals", "watch", "--url", first.url], { ...PLAIN, env });
  expect(await late.ended).toBe(4);
}, 60_000);

test("Ctrl-C ends it although the server hangs", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    // The first reading is answered, nothing after it.
    if (++requests <= 2) response.setHeader("content-type", "application/json").end('{"items":[]}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const watching = haft.onTerminal(["approvals", "watch", "--url", url], {
    ...PLAIN,
    env: { ...PLAIN.env, HAFT_TOKEN: "t" },
  });
  await until(() => requests > 2);
  watching.type("\x03");
  expect(await watching.ended).toBe(130);
}, 60_000);

test("a card is drawn for the width that the terminal has now", async () => {
  const { ask } = await openCaller();
  await ask("exec", { command: `mkdir -p ${"a-long-name/".repeat(9)} && touch b` });
  const watching = haft.onTerminal(["approvals", "watch"], { cols: 100, env: { NO_COLOR: "1" } });
  await watching.waitForScreen(/asked by [\s\S]*1 of 1 \|.*› /);
  const wide = watching.text.length;
  watching.resize(40);
  await until(() => /1 of 1 \| y s a d/.test(watching.text.slice(wide)));
  watching.type("\r");
  await until(() => /asked by:[\s\S]*1 of 1 \|/.test(watching.text.slice(wide)));
  const lines = watching.text
    .slice(wide)
    .replaceAll(/\x1b\[\w+/g, "")
    .split(/\r?\n|\r/);
  expect(lines.filter((line) => line.length > 40)).toEqual([]);
  watching.type("\x04");
  expect(await watching.ended).toBe(0);
}, 60_000);

test("haft alone shows what waits, what failed and what to do, and creates nothing where nothing was used", async () => {
  const fresh = haft.onTerminal([], PLAIN);
  expect(await fresh.ended).toBe(0);
  expect(fresh.text).toMatch(/server +not running[\s\S]*calls +none yet[\s\S]*haft serve[\s\S]*haft help/);
  expect(existsSync(haft.stateFolder)).toBe(false);
  const { ask, fail } = await openCaller();
  await ask("exec", { command: "rm -rf src" });
  await fail("read", { path: "missing.txt" });
  const used = haft.onTerminal([], PLAIN);
  expect(await used.ended).toBe(0);
  expect(used.text).toMatch(/approvals +1 waiting[\s\S]*‼ critical +rm -rf src/);
  expect(used.text).toMatch(/1 call in the last hour[\s\S]*read missing\.txt: path_not_found/);
  expect(used.text).toMatch(/haft approvals watch[\s\S]*haft audit query --status failed/);
}, 60_000);

test("the list fits 80 columns and 40, and the start of an id is enough to answer", async () => {
  const { ask, stateOf } = await openCaller();
  const id = await ask("exec", { command: `echo ${"word ".repeat(40)}> out.txt` });
  for (const columns of ["80", "40"]) {
    const { stdout } = await haft.run(["approvals", "list"], { env: { COLUMNS: columns } });
    const [head = "", row = ""] = stdout.split("\n");
    expect(head).toMatch(columns === "80" ? /^id +risk +subject +tool +who +age +expires$/ : /^id +risk +subject$/);
    expect(row).toMatch(/^apr_\w{8} +◆ medium +echo word word.*…/);
    expect(Math.max(head.length, row.length)).toBeLessThanOrEqual(Number(columns));
  }
  const denied = await haft.run(["approvals", "deny", id.slice(0, 12), "--reason", "no"]);
  expect(denied).toMatchObject({ code: 0 });
  expect(await stateOf(id)).toBe("denied");
}, 60_000);

test("haft grants watch counts what is left in seconds, and a number pressed twice ends a grant", async () => {
  const { host } = await openCaller();
  const { grants } = host.haft.policy;
  const watching = haft.onTerminal(["grants", "watch"], { ...PLAIN, cols: 44 });
  await watching.waitForScreen(/No grant is open/);
  const holder = { user: "ann", session: "a long name ".repeat(10) };
  const { id } = await grants.give({ holder, rules: ["write"], why: "notes", minutes: 0.9, maxUses: 5 });
  await watching.waitForScreen(/1 +active: 5 of 5 calls, \d\d? s [^\n]*…\s+a number ends a grant/);
  const seconds = () => new Set([...watching.text.matchAll(/calls, (\d+) s/g)].map(([, left]) => left));
  await until(() => seconds().size > 1);
  watching.type("1");
  await watching.waitForScreen(/press 1 again to end it now/);
  expect((await grants.get(id))?.ended).toBeUndefined();
  watching.type("1");
  await watching.waitForScreen(/No grant is open\.[\s\S]*ended/);
  expect(await grants.get(id)).toMatchObject({ ended: "revoked" });
  watching.type("q");
  expect(await watching.ended).toBe(0);
}, 180_000);

test("a request for permission is edited field by field, and more than was asked for needs a word", async () => {
  const { host, ask } = await openCaller();
  const request = { purpose: "Write the notes", tools: ["write"], minutes: 30, max_uses: 3 };
  const [kept, id] = [await ask("request_permission", request), await ask("request_permission", request)];
  const answer = async (approval: string, word: string) => {
    const answering = haft.onTerminal(["approvals", "answer", approval], PLAIN);
    await answering.waitForScreen(/1-2, or text: /);
    answering.type("1\r");
    await answering.waitForScreen(/minutes: 30/);
    answering.type("\x1560\r");
    await answering.waitForScreen(/calls: 3/);
    answering.type("\x152\r");
    await answering.waitForScreen(/allow: write/);
    answering.type("\r");
    await answering.waitForScreen(/more than was asked for: minutes 60 \(asked: 30\)/);
    answering.type(`${word}\r`);
    await answering.ended;
  };
  await answer(kept, "no");
  expect((await host.haft.approvals.get(kept))?.state).toBe("pending");
  await answer(id, "yes");
  await until(async () => (await host.haft.policy.grants.list()).length === 1);
  const [grant] = await host.haft.policy.grants.list();
  expect(grant).toMatchObject({ rules: ["write"], maxUses: 2 });
  expect((grant!.until! - grant!.createdAt) / 60_000).toBeCloseTo(60);
}, 180_000);
