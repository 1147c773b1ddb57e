import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { toolError } from "../core/error.ts";
import { EXIT } from "./exit-codes.ts";
import { runCli } from "./run-cli.ts";
import type { Terminal } from "./terminal.ts";

async function runAndClose(close: () => Promise<void>) {
  let stdout = "";
  let stderr = "";
  const terminal: Terminal = {
    stdin: Readable.from([]) as unknown as Terminal["stdin"],
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    cwd: process.cwd(),
    onInterrupt: () => () => undefined,
  };
  const client = { jobs: { list: () => Promise.resolve({ items: [], counts: {} }) } };
  const code = await runCli(["jobs", "list", "--json"], terminal, {
    open: () => Promise.resolve({ client: client as never, close }),
  });
  return { code, stdout, stderr };
}

test("a command that has its result ends although a part does not close, and names the part", async () => {
  const late = () => Promise.reject(toolError("timeout", "Closing plugins took longer than 15000 ms"));
  const { code, stdout, stderr } = await runAndClose(late);
  expect({ code, items: (JSON.parse(stdout) as { items: unknown[] }).items }).toEqual({ code: EXIT.done, items: [] });
  expect(stderr).toContain("Closing plugins took longer than 15000 ms");
});

test("a command fails if what it wrote may be lost", async () => {
  const full = () => Promise.reject(toolError("io_error", "The disk is full"));
  const { code, stderr } = await runAndClose(full);
  expect(code).toBe(EXIT.failed);
  expect(stderr).toContain("The disk is full");
});

test("a word that is missing comes with the usage and with where its values are", async () => {
  let stderr = "";
  const terminal: Terminal = {
    stdin: Readable.from([]) as unknown as Terminal["stdin"],
    stdout: { write: () => undefined },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    cwd: process.cwd(),
    onInterrupt: () => () => undefined,
  };
  expect(await runCli(["token", "revoke"], terminal)).toBe(EXIT.usage);
  expect(stderr).toContain("ID is missing.\nUsage: haft token revoke ID\nID: see `haft token list`\n");
  stderr = "";
  expect(await runCli(["mcp", "config"], terminal)).toBe(EXIT.usage);
  expect(stderr).toMatch(/CLIENT is missing\.\nUsage: haft mcp config CLIENT \[options\]\nCLIENT: .*cursor/);
});
