import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { bundleHaft, type HaftProgram } from "./run-haft.ts";

const MODERN = fileURLToPath(new URL("../mcp/modern-server.mjs", import.meta.url));
let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

const write = ["tools", "call", "write", "path=a.txt", "content=Hello\u202e"];
const file = (): string => join(haft.folder, "a.txt");
const lastEntries = async () =>
  JSON.parse((await haft.run(["audit", "query", "--json"])).stdout) as {
    items: { type: string; errorCode?: string }[];
  };

describe("at a terminal", () => {
  test("a call that needs a yes asks, in full, runs after y, and says how it is undone", async () => {
    const terminal = haft.onTerminal(write);
    await terminal.waitForScreen(/q = leave open/);
    expect(terminal.text).toContain("Hello\\u{202e}");
    expect(terminal.text).not.toContain("\u202e");
    expect(existsSync(file())).toBe(false);
    await terminal.press("y", /Created a\.txt/);
    expect(await terminal.ended).toBe(0);
    expect(readFileSync(file(), "utf8")).toBe("Hello\u202e");
    const [, undo] = /haft (undo call_\w+)/.exec(terminal.text)!;
    expect(await haft.run(undo!.split(" "))).toMatchObject({ code: 0 });
    expect(existsSync(file())).toBe(false);
  }, 60_000);

  test("after n it does not run, and the reason is what the model would be told", async () => {
    const terminal = haft.onTerminal(write);
    await terminal.waitForScreen(/q = leave open/);
    await terminal.press("n", /why not\?/);
    terminal.type("not today\r");
    expect(await terminal.ended).toBe(6);
    expect(terminal.text).toContain("denied this call: not today");
    expect(existsSync(file())).toBe(false);
  }, 60_000);

  test("a question that is left open stays for others, with exit code 7", async () => {
    const terminal = haft.onTerminal(write);
    await terminal.waitForScreen(/q = leave open/);
    await terminal.press("q", /haft approvals approve/);
    expect(await terminal.ended).toBe(7);
    const [, id] = /haft approvals approve (\S+)/.exec(terminal.text)!;
    expect(await haft.run(["approvals", "approve", id!])).toMatchObject({ code: 0 });
    expect(existsSync(file())).toBe(true);
  }, 60_000);

  test("the first run in a folder asks once whether to trust it, and says what that covers", async () => {
    writeFileSync(join(haft.folder, "haft.config.yml"), "permissions:\n  allow: [Bash(make)]\n");
    const serve = ["serve", "--port", "0", "--no-open"];
    const first = haft.onTerminal(serve);
    await first.waitForScreen(/Trust this folder\?/);
    expect(first.text).toContain("Bash(make)");
    first.type("n\r");
    await first.waitForScreen(/Not trusted\. `haft trust` asks again\./);
    await first.waitForScreen(/in this folder: \S*haft tools call write/);
    first.type("\x03");
    await first.ended;
    const second = haft.onTerminal(serve);
    await second.waitForScreen(/http:/);
    expect(second.text).not.toContain("Trust this folder?");
    second.type("\x03");
    await second.ended;
    // A change is a new question.
    writeFileSync(join(haft.folder, "haft.config.yml"), "permissions:\n  allow: [Bash(ls)]\n");
    const third = haft.onTerminal(serve);
    await third.waitForScreen(/Trust this folder\?/);
    third.type("y\r");
    await third.waitForScreen(/http:/);
    third.type("\x03");
    await third.ended;
    expect(await haft.run(["trust", "--list"])).toMatchObject({ code: 0 });
  }, 90_000);

  test("Ctrl-C cancels the call, waits until that is recorded, and exits with 130", async () => {
    const terminal = haft.onTerminal(["tools", "call", "sleep", "duration:=25"]);
    await terminal.waitForScreen(/⠋|⠙|⠹|⠸|⠼/);
    terminal.type("\x03");
    expect(await terminal.ended).toBe(130);
    expect(terminal.text).toContain("a person cancelled it");
    const { items } = await lastEntries();
    expect(items[0]).toMatchObject({ type: "call_ended", errorCode: "cancelled" });
  }, 60_000);

  test("what goes on is shown in a line that is taken away again, and never to a dumb terminal", async () => {
    writeFileSync(join(haft.folder, "haft.config.yml"), "");
    const sleep = ["tools", "call", "sleep", "duration:=2"];
    const terminal = haft.onTerminal(sleep);
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] sleep/);
    expect(terminal.text.lastIndexOf("\x1b[2K")).toBeGreaterThan(terminal.text.search(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] sleep/));
    const dumb = haft.onTerminal(sleep, { env: { TERM: "dumb" } });
    expect(await dumb.ended).toBe(0);
    expect(dumb.text).not.toMatch(/\x1b|⠋/);
  }, 60_000);

  test("colours are used, and NO_COLOR is heard", async () => {
    const coloured = haft.onTerminal(["tools", "list"]);
    expect(await coloured.ended).toBe(0);
    expect(coloured.text).toContain("\x1b[1mread\x1b[22m");
    const plain = haft.onTerminal(["tools", "list"], { env: { NO_COLOR: "1" } });
    expect(await plain.ended).toBe(0);
    expect(plain.text).not.toContain("\x1b[1m");
  }, 60_000);

  test("what an MCP server asks while it works is asked, field by field, and answered from another terminal too", async () => {
    const servers = { modern: { command: process.execPath, args: [MODERN] } };
    writeFileSync(join(haft.folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    await haft.run(["trust", "--yes"]);
    const call = ["tools", "call", "mcp__modern__delete_all", "--mode", "bypassPermissions"];
    const terminal = haft.onTerminal(call);
    await terminal.waitForScreen(/confirm\*\s+boolean[\s\S]*leave open: /);
    expect(terminal.text).toContain("Really\\u{200b}?");
    await terminal.press("y\r", /confirm: /);
    terminal.type("yes\r");
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toContain("deleted");
    const waiting = haft.onTerminal(call);
    await waiting.waitForScreen(/\(ask_[^,]+, open\)/);
    const [, id] = /\((ask_[^,]+), open\)/.exec(waiting.text)!;
    expect(await haft.run(["mcp", "answer", id!, "confirm=no"])).toMatchObject({ code: 0 });
    expect(await waiting.ended).toBe(0);
    expect(waiting.text).toContain("kept");
  }, 120_000);

  test("what a folder would run is trusted after a typed yes alone", async () => {
    writeFileSync(join(haft.folder, "haft.config.yml"), 'permissions: { allow: ["Edit"] }\n');
    const no = haft.onTerminal(["trust"]);
    await no.waitForScreen(/\(y\/N\)/);
    no.type("\r");
    expect(await no.ended).toBe(7);
    const yes = haft.onTerminal(["trust"]);
    await yes.waitForScreen(/\(y\/N\)/);
    yes.type("yes\r");
    expect(await yes.ended).toBe(0);
    expect(await haft.run(["tools", "call", "write", "path=b.txt", "content=x"])).toMatchObject({ code: 0 });
  }, 60_000);

  test("a server that is started in an empty folder offers a sample, and serves that", async () => {
    const serving = haft.onTerminal(["serve", "--port", "0", "--no-open"]);
    await serving.waitForScreen(/\(y\/N\)/);
    serving.type("y\r");
    await serving.waitForScreen(/serves .*haft-sample/);
    const sample = join(haft.folder, "haft-sample");
    expect(existsSync(join(sample, "notes", "todo.md"))).toBe(true);
    const { greet } = (await import(join(sample, "src", "greet.js"))) as { greet: (name: string) => string };
    expect(greet("Ada")).toBe("Hello, Ada!");
    await serving.waitForScreen(/ends the server/);
    expect(serving.text).toContain(`haft -C ${sample} tools call write`);
    serving.type("\x03");
    expect(await serving.ended).toBe(0);
  }, 60_000);
});
