import { access } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../core/error.ts";
import { CloseStack } from "../core/close-stack.ts";
import { type HaftHost, openHaft } from "../host.ts";
import { AgentCalls } from "../capabilities/agent-calls.ts";
import { stateRootOf } from "../io/files/state-folder.ts";
import { type HookSocket, serveHooks } from "../server/hook-socket.ts";
import { serveArtifacts } from "../capabilities/artifacts.ts";
import { DEFAULT_PORT, DRAIN_MS, type HttpServer, serveHttp } from "../server/http-server.ts";
import { logLine } from "../server/log.ts";
import { createMcpHandler, MCP_STATE_KEY, shownToClients, skillPrompts } from "../server/mcp-endpoint.ts";
import type { EmbedOptions } from "./command.ts";
import { findPackage } from "../io/files/own-folders.ts";
import type { HookSource } from "../api/handlers/server.ts";
import { ApiError } from "../contracts/errors.ts";
import {
  childPrefix,
  issueToken,
  MemoryTokenStore,
  openTokensOnUse,
  SCOPES,
  type StoredToken,
  type TokenStore,
} from "../store/tokens.ts";
import { publishServer } from "./running-server.ts";
import { haftCommand, userName } from "./terminal.ts";

export interface StartOptions {
  folder: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  embedded: EmbedOptions;
  /** Instead of the configured one. */
  port?: number;
  host?: string;
  graceMs?: number;
  tls?: { cert: string; key: string };
  log(line: string): void;
  onWarning(warning: string): void;
}

export interface StartedServer {
  host: HaftHost;
  server: HttpServer;
  /** Logs a browser in, once. */
  login: string;
  hasConsole: boolean;
  /** When the last hook of an agent came, in Unix milliseconds. */
  lastHookAt(): number;
  close(): Promise<void>;
}

/** For the answers of calls that were stopped. */
const ANSWER_MS = 5000;
/** Clients learn within this time, by the answer to a request, that the server takes no more. */
const IDLE_MS = 250;

/** Opens a folder and serves it as its configuration says. */
export async function startServer({
  folder,
  version,
  env,
  embedded,
  tls,
  log,
  onWarning,
  ...requested
}: StartOptions): Promise<StartedServer> {
  let server: HttpServer | undefined;
  const host = await openHaft(folder, {
    ownsProcess: true,
    env,
    onWarning,
    // The console requests the page, opens it, and finishes the sign-in when the browser returns.
    mcpSignIn: { redirectUrl: () => `${server?.url ?? "http://127.0.0.1"}/`, onAuthorize: () => {} },
    middleware: embedded.middleware,
  });
  const graceNow = () => requested.graceMs ?? host.config.value.server.grace ?? DRAIN_MS;
  const closing = new CloseStack();
  closing.push("the host", () => host.close({ graceMs: graceNow() }));
  try {
    const { onEvent } = embedded;
    if (onEvent) host.haft.on("*", onEvent);
    const { token: configuredToken, allowedHosts, allowedOrigins, limits, ...configured } = host.config.value.server;
    const { tokens, localToken } = await openServerTokens(host, configuredToken);
    const console = await findConsole();
    server = await serveHttp(host, {
      host: requested.host ?? configured.host ?? "127.0.0.1",
      port: requested.port ?? configured.port ?? DEFAULT_PORT,
      tokens,
      endpoints: {
        "/mcp": createMcpHandler(host.haft, {
          version,
          resources: [serveArtifacts(host.artifacts)],
          prompts: skillPrompts(host.agents.skills),
          shows: (tool) => shownToClients(host.config.value.mcp)(tool),
          ready: () => host.mcp.settled(),
          defers: host.config.value.toolSearch.mcp === true,
          stateKey: () => host.store.keys(MCP_STATE_KEY),
          approvalAddress: (id) => (server ? `${server.url}/#/approvals/${id}` : undefined),
          onError: (error) => log(logLine("mcp", { reason: error.message })),
        }),
      },
      info: {
        version,
        workspace: host.config.folder,
        command: haftCommand(),
        store: storeOf(host),
        hooks: hookSource({ env, folder: host.config.folder }),
      },
      tls,
      allowedHosts: allowedHosts || undefined,
      allowedOrigins: allowedOrigins || undefined,
      console,
      limits,
      log,
      onWarning,
    });
    const running = server;
    const hooks = await openHooks(host, { env, onWarning });
    if (hooks) closing.push("hooks", () => hooks.close());
    // Together: the server sends the results of the calls that the host ends.
    closing.push("the server", async () => {
      const graceMs = graceNow();
      const closed = running.close({ graceMs: graceMs + ANSWER_MS, idleMs: IDLE_MS });
      await Promise.allSettled([host.close({ graceMs })]);
      await closed;
    });
    await runJobs(host, onWarning);
    host.schedules.start();
    await host.sessions.start();
    const login = await server.loginUrl({ name: userName() });
    // A recording answers instead of the tools: other commands must not get its answers.
    if (!embedded.middleware && !tls) {
      const address = { url: localUrlOf(running), token: localToken, version, env };
      closing.push("its address", await publishServer(host.stateFolder, address));
    }
    const lastHookAt = () => hooks?.lastEventAt() ?? Date.now();
    return { host, server, login, lastHookAt, hasConsole: console !== undefined, close: () => closing.close() };
  } catch (error) {
    await closing.close().catch(() => undefined);
    throw error;
  }
}

function hookSource(place: Pick<StartOptions, "env" | "folder">): HookSource {
  const { env } = place;
  const load = () => import("./hook-setup.ts");
  return {
    async list() {
      const { GAPS, installedHooks, stateOf } = await load();
      const shown = installedHooks(env).map(async ({ native: _words, ...hook }) => ({
        ...hook,
        state: await stateOf(hook, place),
        gap: GAPS[hook.agent],
      }));
      return Promise.all(shown);
    },
    async prove(file) {
      const { installedHooks, proveHook } = await load();
      const hook = installedHooks(env).find((each) => each.file === file);
      if (!hook) return undefined;
      const problem = await proveHook(hook, place);
      return { denies: problem === undefined, problem };
    },
  };
}

/** Where hooks of agents reach this server. Without it they start another one, or deny. */
async function openHooks(
  { haft, workspace, store, config, stateFolder }: HaftHost,
  { env, onWarning }: Pick<StartOptions, "env" | "onWarning">,
): Promise<HookSocket | undefined> {
  if (process.platform === "win32") return undefined;
  const journal = store.undo(config.folder);
  const calls = new AgentCalls({ haft, workspace, audit: store.audit, user: userName(), journal });
  try {
    return await serveHooks({ calls, folder: config.folder, stateFolder, stateRoot: stateRootOf({ env }) });
  } catch (error) {
    onWarning(`Hooks of other agents do not reach this server: ${errorMessage(error)}`);
    return undefined;
  }
}

/** Including jobs left from before. A queue that is not available now is tried again at the first background call. */
async function runJobs({ haft }: HaftHost, warn: (warning: string) => void): Promise<void> {
  try {
    await haft.jobs.work();
  } catch (error) {
    warn(`Background calls do not run here: ${errorMessage(error)}`);
  }
}

async function findConsole(): Promise<string | undefined> {
  const folder = join((await findPackage()) ?? "", "dist", "console");
  return access(join(folder, "index.html")).then(
    () => folder,
    () => undefined,
  );
}

/** Reachable from this machine, even if the server listens on all addresses. */
function localUrlOf({ url, port }: HttpServer): string {
  return /^http:\/\/(?:0\.0\.0\.0|\[::\])[:/]/.test(url) ? `http://127.0.0.1:${port}` : url;
}

function storeOf({ store }: HaftHost): { kind: string; place: string } {
  const { engine, place } = store.database;
  return { kind: engine, place };
}

/** The token of the configuration, with every scope, and one for this user's commands, which ends with the server. */
export async function openServerTokens(
  host: HaftHost,
  configured: string | undefined,
): Promise<{ tokens: TokenStore; localToken: string }> {
  const { clock } = host.haft.settings;
  const own = new MemoryTokenStore();
  const stored = openTokensOnUse(host.store.database, clock);
  /** Sessions that were opened with a token of this process end with it too. */
  const isOwn = (id: string): boolean =>
    own.list().some((token) => token.id === id || id.startsWith(childPrefix(token.id)));
  const all: TokenStore = {
    list: async () => [...own.list().filter(({ kind }) => kind === "session"), ...(await stored.list())],
    find: (hash) => own.find(hash) ?? stored.find(hash),
    add: (token) => (isOwn(token.id) ? own.add(token) : stored.add(token)),
    remove: (id) => (isOwn(id) ? own.remove(id) : stored.remove(id)),
  };
  const { token: localToken } = await issueToken(own, clock, { name: userName(), scopes: SCOPES });
  if (configured === undefined) return { tokens: all, localToken };
  const issued = await issueToken(own, clock, { name: "configured", scopes: SCOPES, token: configured });
  const known = (await all.list()).find(({ hash }) => hash === issued.stored.hash);
  if (known) throw duplicateToken(known);
  const tokens: TokenStore = {
    ...all,
    list: async () => [issued.stored, ...(await all.list())],
    remove(id) {
      if (id !== issued.stored.id) return all.remove(id);
      throw new ApiError(
        "conflict",
        "That token is in the configuration: it would be valid again after a restart",
        "Remove `server.token` (or HAFT_SERVER_TOKEN) there, and restart the server.",
      );
    },
  };
  return { tokens, localToken };
}

/** As a configured token it would have every scope and could not be revoked. */
function duplicateToken({ name, scopes }: StoredToken): Error {
  return new Error(
    `\`server.token\` is the token "${name}" of this folder's store, which has the scopes ${scopes.join(", ") || "none"}. ` +
      "It is valid without being configured: remove it from the configuration (or HAFT_SERVER_TOKEN), or use another one.",
  );
}
