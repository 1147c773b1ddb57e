import { createClient, type HaftClient } from "../client/create-client.ts";
import type { ConnectOptions, EmbedOptions } from "./command.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

export interface ConnectTarget {
  folder: string;
  /** A running server; absent for one in this process. */
  url: string | undefined;
  terminal: Terminal;
  output: Output;
  embedded: EmbedOptions;
}

interface Connected {
  client: HaftClient;
  close(): Promise<void>;
}

/** The server that a command speaks to: opened when first asked for, so that what needs none opens none. */
export function connectLazily(target: ConnectTarget) {
  let opened: Promise<Connected> | undefined;
  return {
    connect: async (options: ConnectOptions = {}): Promise<HaftClient> =>
      (await (opened ??= open(target, options))).client,
    async close(): Promise<void> {
      const connected = await opened?.catch(() => undefined);
      await connected?.close();
    },
  };
}

async function open(
  { folder, url, terminal, output, embedded }: ConnectTarget,
  { runsJobs = true, connectsMcp = true }: ConnectOptions,
): Promise<Connected> {
  if (embedded.open) return embedded.open();
  if (url !== undefined) return { client: connectTo(url, terminal, output), close: () => Promise.resolve() };
  const { openEmbedded } = await import("./open-embedded.ts");
  return openEmbedded({ folder, terminal, output, embedded, runsJobs, connectsMcp });
}

function connectTo(url: string, { env }: Terminal, output: Output): HaftClient {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`"${url}" is no address of a server.`, "Write it as http://127.0.0.1:4117.");
  }
  const { protocol, hostname, origin } = new URL(url);
  const token = env["HAFT_TOKEN"];
  if (protocol === "http:" && token !== undefined && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    output.warn(`${hostname} is spoken to without TLS: the token can be read by everybody on the way.`);
  }
  return createClient({ url: origin, token: token || undefined });
}
