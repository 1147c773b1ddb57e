import { userInfo } from "node:os";
import type { Contract } from "../contracts/contract.ts";
import type { Identity, Scope } from "../contracts/identity.ts";
import type { ApiClient, Contracts } from "../contracts/index.ts";
import { UsageError } from "./arguments.ts";
import type { ConnectOptions, EmbedOptions, Resource } from "./command.ts";
import { type Output, safe } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export interface ConnectionTarget {
  folder: string;
  /** A running server; if omitted, the command works in this process. */
  url: string | undefined;
  terminal: Terminal;
  output: Output;
  embedded: EmbedOptions;
  uses: readonly Resource[];
}

interface OpenConnection {
  client: ApiClient;
  close(): Promise<void>;
}

/** The connection of one command: opened when it is first used. */
export class Connection {
  readonly #target: ConnectionTarget;
  #opened: Promise<OpenConnection> | undefined;

  constructor(target: ConnectionTarget) {
    this.#target = target;
  }

  async open(options: ConnectOptions = {}): Promise<ApiClient> {
    this.#opened ??= openConnection(this.#target, options);
    return (await this.#opened).client;
  }

  async close(): Promise<void> {
    const connection = await this.#opened?.catch(() => undefined);
    await connection?.close();
  }
}

async function openConnection(target: ConnectionTarget, options: ConnectOptions): Promise<OpenConnection> {
  const { url, terminal, output, embedded, uses } = target;
  if (embedded.open) return embedded.open();
  const contracts = await loadContracts(uses);
  if (url === undefined) return openInProcess(target, options, contracts);
  return { client: await httpClient(contracts, serverAt(url, terminal, output)), close: () => Promise.resolve() };
}

/** Each contract is loaded for the commands that use it: the schemas of all take tens of milliseconds. */
const CONTRACTS: { readonly [Name in Resource]: () => Promise<Contract> } = {
  server: async () => (await import("../contracts/server.ts")).server,
  session: async () => (await import("../contracts/session.ts")).session,
  tokens: async () => (await import("../contracts/tokens.ts")).tokens,
  tools: async () => (await import("../contracts/tools.ts")).tools,
  calls: async () => (await import("../contracts/calls.ts")).calls,
  approvals: async () => (await import("../contracts/approvals.ts")).approvals,
  policy: async () => (await import("../contracts/policy.ts")).policy,
  playground: async () => (await import("../contracts/playground.ts")).playground,
  audit: async () => (await import("../contracts/audit.ts")).audit,
  statistics: async () => (await import("../contracts/statistics.ts")).statistics,
  undo: async () => (await import("../contracts/undo.ts")).undo,
  artifacts: async () => (await import("../contracts/artifacts.ts")).artifacts,
  canvas: async () => (await import("../contracts/canvas.ts")).canvas,
  mcp: async () => (await import("../contracts/mcp.ts")).mcp,
  channels: async () => (await import("../contracts/channels.ts")).channels,
  questions: async () => (await import("../contracts/questions.ts")).questions,
  jobs: async () => (await import("../contracts/jobs.ts")).jobs,
  schedules: async () => (await import("../contracts/schedules.ts")).schedules,
  sessions: async () => (await import("../contracts/sessions.ts")).sessions,
  configuration: async () => (await import("../contracts/configuration.ts")).configuration,
  events: async () => (await import("../contracts/events.ts")).events,
};

async function loadContracts(uses: readonly Resource[]): Promise<Record<string, Contract>> {
  const loaded = await Promise.all(uses.map(async (name) => [name, await CONTRACTS[name]()] as const));
  return Object.fromEntries(loaded);
}

interface ServerAddress {
  url: string;
  token: string | undefined;
}

function serverAt(url: string, { env }: Terminal, output: Output): ServerAddress {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`"${url}" is not the address of a server.`, "Write it like http://127.0.0.1:4117.");
  }
  const { protocol, hostname, origin } = new URL(url);
  const token = env["HAFT_TOKEN"] || undefined;
  if (protocol === "http:" && token !== undefined && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    output.warn(`The connection to ${hostname} has no TLS: anybody on the way can read the token.`);
  }
  return { url: origin, token };
}

async function httpClient(contracts: Record<string, Contract>, { url, token }: ServerAddress): Promise<ApiClient> {
  const { createHttpClient } = await import("../api/http-client.ts");
  // The commands get the resources that they use, by the type of `connect`.
  return createHttpClient(contracts, { url, token }) as unknown as ApiClient;
}

/** The runtime and the store of the folder, in this process. */
async function openInProcess(
  { folder, terminal, output, embedded }: ConnectionTarget,
  { runsJobs = true, connectsMcp = true }: ConnectOptions,
  contracts: Record<string, Contract>,
): Promise<OpenConnection> {
  const [{ openHaft }, { UNCONFINED_WARNING }, { HostApi }, { createDirectClient }] = await Promise.all([
    import("../host.ts"),
    import("../capabilities/base.ts"),
    import("../api/host-api.ts"),
    import("../api/direct-client.ts"),
  ]);
  const host = await openHaft(folder, {
    env: terminal.env,
    // Only the person at this terminal would answer, and is asked; without a terminal the approval stays pending.
    approvalWaitMs: false,
    runsJobs,
    connectsMcp,
    // Most commands run no program, and the result of an unconfined one has the warning too.
    onWarning: (warning) => warning.startsWith(UNCONFINED_WARNING) || output.warn(safe(warning)),
    middleware: embedded.middleware,
  });
  try {
    if (embedded.onEvent) host.haft.on("*", embedded.onEvent);
    const api = new HostApi(host, { info: { workspace: host.config.folder } });
    const identity: Identity = { id: "local", name: userName(), scopes: SCOPES, kind: "token" };
    const { handlersOf } = api;
    return {
      // The commands get the resources that they use, by the type of `connect`.
      client: createDirectClient(contracts as Contracts, { identity, handlersOf }) as ApiClient,
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

const SCOPES: readonly Scope[] = ["read", "call", "approve", "admin"];

/** Recorded as the caller. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "owner";
  }
}
