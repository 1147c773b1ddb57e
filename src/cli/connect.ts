/** The API client of a command: of `--url`, of the workspace's running server, or of a runtime in this process. */
import type { Contract } from "../contracts/contract.ts";
import type { ApiClient } from "../contracts/index.ts";
import { UsageError } from "./arguments.ts";
import type { ConnectOptions, Invocation, Resource } from "./command.ts";
import type { InProcessTarget } from "./in-process.ts";
import type { Output } from "./output.ts";
import type { ServerAddress } from "./running-server.ts";
import type { Terminal } from "./terminal.ts";

export interface ConnectionTarget extends InProcessTarget, Pick<Invocation, "url"> {
  /** False with `--no-server`. */
  usesRunningServer: boolean;
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
    if (options.isNew) {
      await this.close();
      this.#opened = undefined;
    }
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
  const server = url === undefined ? await findServer(target) : serverAt(url, terminal, output);
  if (server) {
    const [{ createHttpClient }, { fetchFor }] = await Promise.all([
      import("../api/http-client.ts"),
      import("./fetch-by-http.ts"),
    ]);
    // The type of `connect` limits a command to the resources that it uses.
    const client = createHttpClient(contracts, { ...server, fetch: fetchFor(server.url) }) as unknown as ApiClient;
    return { client, close: () => Promise.resolve() };
  }
  const { InProcessHost } = await import("./in-process.ts");
  const host = new InProcessHost(target, options);
  try {
    return { client: await host.client(contracts), close: () => host.close() };
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** Loads only the contracts that a command uses: the schemas of all take tens of milliseconds. Others still work, slower. */
const CONTRACTS: { readonly [Name in Resource]?: () => Promise<Contract> } = {
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
  store: async () => (await import("../contracts/store.ts")).store,
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
  const loaded = await Promise.all(uses.map(async (name) => [name, await loadContract(name)] as const));
  return Object.fromEntries(loaded);
}

async function loadContract(name: Resource): Promise<Contract> {
  return CONTRACTS[name]?.() ?? (await import("../contracts/index.ts")).contracts[name];
}

function serverAt(url: string, { env }: Terminal, output: Output): ServerAddress {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`"${url}" is not the address of a server.`, "Write it like http://127.0.0.1:4117.");
  }
  const { protocol, hostname, origin } = new URL(url);
  const token = env["HAFT_TOKEN"] || undefined;
  if (protocol === "http:" && token !== undefined && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    output.warn(`The connection to ${hostname} has no TLS: anyone on the network can read the token.`);
  }
  return { url: origin, token };
}

async function findServer(target: ConnectionTarget): Promise<ServerAddress | undefined> {
  const { folder, usesRunningServer, terminal, output, embedded } = target;
  // A recording needs the calls of this process.
  if (!usesRunningServer || embedded.middleware !== undefined) return undefined;
  const { findRunningServer } = await import("./running-server.ts");
  return findRunningServer(folder, { env: terminal.env, warn: (text) => output.warn(text) });
}
