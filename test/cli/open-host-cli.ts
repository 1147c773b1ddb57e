// The command line in this process, against a host with a folder of its own: no build, no server, no port.
import { rmSync } from "node:fs";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createDirectClient } from "../../src/api/direct-client.ts";
import { HostApi } from "../../src/api/host-api.ts";
import { contracts } from "../../src/contracts/index.ts";
import type { Identity } from "../../src/contracts/identity.ts";
import { type HostOptions, openHaft } from "../../src/host.ts";

const ANN: Identity = { id: "1", name: "ann", scopes: ["read", "call", "approve", "admin"], kind: "token" };

/** The folder is also the home, and is removed when the test ends. */
export async function openHostCli(folder: string, options: HostOptions = {}) {
  const host = await openHaft(folder, { home: folder, env: {}, approvalWaitMs: false, ...options });
  const api = new HostApi(host);
  const client = createDirectClient(contracts, { identity: ANN, handlersOf: api.handlersOf });
  onTestFinished(async () => {
    api.close();
    await host.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const haft = async (...words: string[]) => {
    let stdout = "";
    let stderr = "";
    const terminal: Terminal = {
      stdin: new PassThrough() as unknown as Terminal["stdin"],
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: {},
      cwd: folder,
      onInterrupt: () => () => undefined,
    };
    const code = await runCli(words, terminal, { open: async () => ({ client, close: async () => undefined }) });
    return { code, stdout, stderr };
  };
  return { host, haft };
}
