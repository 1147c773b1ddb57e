// `haft mcp resources|read|prompts|prompt|questions|answer` before a real host and a real server, in this process.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const MODERN = fileURLToPath(new URL("../mcp/modern-server.mjs", import.meta.url));

async function open() {
  const folder = temporaryFolder("haft-mcp-cli-");
  mkdirSync(join(folder, ".config", "haft"), { recursive: true });
  const notes = { command: process.execPath, args: [MODERN], trust: true };
  writeFileSync(join(folder, ".config", "haft", "config.json"), JSON.stringify({ mcpServers: { notes } }));
  const { host, haft } = await openHostCli(folder, { env: { PATH: process.env["PATH"] ?? "" } });
  return { host, haft: (...words: string[]) => haft("mcp", ...words) };
}

test("what a server has to read is listed and read, through the gate", async () => {
  const { haft, host } = await open();
  expect(await haft("resources")).toMatchObject({ code: 0, stdout: expect.stringMatching(/notes\s+note:\/\/1/) });
  const items = JSON.parse((await haft("resources", "notes", "--json")).stdout) as { items: unknown[] };
  expect(items.items).toMatchObject([{ server: "notes", uri: "note://1", isTemplate: false }]);
  expect(await haft("read", "notes", "note://1", "--raw")).toMatchObject({ code: 0, stdout: "a note" });
  expect((await host.haft.calls.log.recent()).map(({ toolName }) => toolName)).toContain("read_mcp_resource");
  const unknown = await haft("read", "notes", "note://9");
  expect(unknown.code).not.toBe(0);
  expect((await haft("resources", "nobody")).stderr).toContain("nobody");
});

test("prompts are listed, and filled in", async () => {
  const { haft } = await open();
  expect(await haft("prompts")).toMatchObject({ code: 0, stdout: expect.stringMatching(/greet/) });
  expect(await haft("prompt", "notes", "greet", "name=Ada")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Hello Ada"),
  });
  expect((await haft("prompt", "notes", "greet")).code).not.toBe(0);
});

test("what a server asks is shown with hidden characters spelled out, and answered once", async () => {
  const { haft, host } = await open();
  expect(await haft("questions")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("No server asks anything"),
  });
  await host.mcp.settled();
  const given = new AbortController();
  const ask = () =>
    host.haft.execute("mcp__notes__delete_all", {}, { mode: "bypassPermissions", signal: given.signal });
  const called = ask();
  const id = await vi.waitFor(async () => {
    const { items } = JSON.parse((await haft("questions", "--json")).stdout) as { items: { id: string }[] };
    expect(items).toHaveLength(1);
    return items[0]!.id;
  });
  const shown = await haft("questions", id);
  expect(shown.stdout).toContain("confirm");
  expect(shown.stdout).not.toContain("\u200b");
  // A form is not answered by nothing.
  expect(await haft("answer", id)).toMatchObject({ code: 2, stderr: expect.stringContaining("KEY=VALUE") });
  expect(await haft("answer", id, "confirm=yes")).toMatchObject({ code: 0, stdout: `${id}: accepted\n` });
  expect(await called).toMatchObject({ status: "completed", content: [{ text: "deleted" }] });
  expect((await haft("answer", id, "--decline")).code).not.toBe(0);

  const again = ask();
  await vi.waitFor(async () => expect((await haft("questions")).stdout).toMatch(/ask_/));
  const [other] = /ask_[\w-]+/.exec((await haft("questions")).stdout)!;
  expect(await haft("answer", other, "--decline")).toMatchObject({ code: 0, stdout: `${other}: declined\n` });
  // This server asks until it is told yes.
  given.abort();
  expect((await again).status).toBe("failed");
  expect((await haft("questions", "--state", "all")).stdout).toContain(id);
});
