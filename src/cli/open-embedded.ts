import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { createClient, type HaftClient } from "../client/create-client.ts";
import { openHaft } from "../host.ts";
import { UNCONFINED_WARNING } from "../capabilities/base.ts";
import { openInProcess } from "../http/open-in-process.ts";
import { capabilitiesOfHost } from "../http/parts/parts-of-host.ts";
import { issueToken, SCOPES } from "../http/tokens.ts";
import type { EmbedOptions } from "./command.ts";
import { openTokens } from "./open-tokens.ts";
import { type Output, safe } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export interface EmbeddedOptions {
  folder: string;
  terminal: Terminal;
  output: Output;
  embedded: EmbedOptions;
  runsJobs: boolean;
  connectsMcp: boolean;
}

/** The folder's own runtime and store in this process, behind the same door as a server's. */
export async function openEmbedded({
  folder,
  terminal,
  output,
  embedded,
  runsJobs,
  connectsMcp,
}: EmbeddedOptions): Promise<{ client: HaftClient; close(): Promise<void> }> {
  const host = await openHaft(folder, {
    env: terminal.env,
    // Nobody but the person at this terminal would answer, and they are asked; off a terminal the question stays.
    approvalWaitMs: false,
    runsJobs,
    connectsMcp,
    // Most commands run none of the workspace's commands, and the result of one that was not confined says so itself.
    onWarning: (warning) => warning.startsWith(UNCONFINED_WARNING) || output.warn(safe(warning)),
    middleware: embedded.middleware,
  });
  try {
    if (embedded.onEvent) host.haft.on("*", embedded.onEvent);
    const tokens = openTokens(host);
    const token = randomBytes(32).toString("base64url");
    await issueToken(tokens.own, host.haft.executor.clock, { name: userName(), scopes: SCOPES, token });
    const api = openInProcess(host.haft, {
      tokens: tokens.all,
      parts: capabilitiesOfHost(host),
      info: { workspace: host.config.folder },
      // What is refused is told by the command; what failed in the server is told nowhere else.
      log: (line) => line.startsWith("failed ") && output.warn(line),
    });
    return {
      client: createClient({ url: "http://embedded", token, fetch: api.fetch }),
      async close() {
        api.close();
        await host.close();
      },
    };
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** Who is recorded as the caller. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "owner";
  }
}
