// The command line as an entrance: its words, its commands and its in-process door, before a runtime that a test has made.
import { PassThrough } from "node:stream";
import type { TestHaft } from "haft/testing";
import type { CallOptions, ToolResult } from "haft";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createDirectClient } from "../../src/api/direct-client.ts";
import { HostApi } from "../../src/api/host-api.ts";
import { contracts } from "../../src/contracts/index.ts";
import type { Identity } from "../../src/contracts/identity.ts";

const ANN: Identity = { id: "1", name: "ann", scopes: ["read", "call", "approve", "admin"], kind: "token" };

interface Called {
  haft: TestHaft;
  name: string;
  input: unknown;
  options: CallOptions;
}

/** `haft tools call NAME - --json`, with the input on stdin; what is printed is the result. */
export async function callByCommandLine({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { mode, id, caller, policy, signal: _signal, ...others } = options;
  const words = ["tools", "call", name, "-", "--json"];
  if (mode !== undefined) words.push("--mode", mode);
  if (id !== undefined) words.push("--id", id);
  if (caller?.session !== undefined) words.push("--session", caller.session);
  for (const { allow = [], deny = [] } of policy === undefined ? [] : [policy].flat()) {
    if (allow.length > 0) words.push("--allow", allow.join(","));
    if (deny.length > 0) words.push("--deny", deny.join(","));
  }
  for (const [option, value] of Object.entries(others)) words.push(`--${option}`, String(value));
  const stdin = new PassThrough();
  stdin.end(JSON.stringify(input));
  let printed = "";
  let output = "";
  const terminal: Terminal = {
    stdin: stdin as unknown as Terminal["stdin"],
    stdout: { write: (text) => (printed += text) },
    stderr: { write: (text) => (output += text) },
    env: {},
    cwd: process.cwd(),
    onInterrupt: () => () => undefined,
  };
  await runCli(words, terminal, { open: () => openClient(haft) });
  if (printed === "") throw new Error(`Nothing was printed: ${output}`);
  return JSON.parse(printed) as ToolResult;
}

async function openClient(haft: TestHaft) {
  const api = new HostApi({ haft });
  return {
    client: createDirectClient(contracts, { identity: ANN, handlersOf: api.handlersOf }),
    close: async () => api.close(),
  };
}
