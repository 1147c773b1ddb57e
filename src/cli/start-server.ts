import { access } from "node:fs/promises";
import { join } from "node:path";
import { type HaftHost, openHaft } from "../host.ts";
import { serveArtifacts } from "../capabilities/artifacts.ts";
import { DEFAULT_PORT, type HttpServer, serveHttp } from "../server/http-server.ts";
import { logLine } from "../server/log.ts";
import { createMcpHandler, MCP_STATE_KEY } from "../server/mcp-endpoint.ts";
import type { JobWorker } from "../calls/job-queue.ts";
import { STATE_FILES } from "../io/files/state-folder.ts";
import type { EmbedOptions } from "./command.ts";
import { findPackage } from "../io/files/package-folder.ts";
import { ApiError } from "../contracts/errors.ts";
import {
  issueToken,
  MemoryTokenStore,
  openTokensOnUse,
  SCOPES,
  type StoredToken,
  type TokenStore,
} from "../store/tokens.ts";
import { userName } from "./connect.ts";

export interface StartOptions {
  folder: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  embedded: EmbedOptions;
  /** Over what the configuration says. */
  port?: number;
  host?: string;
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
  close(): Promise<void>;
}

/** What running jobs have when the server ends; what is left then is handed back, or ends as cut off. */
const JOBS_GRACE_MS = 10_000;

/** A folder's runtime behind its HTTP door, as its configuration says. */
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
    env,
    onWarning,
    // The console asks for the page, goes there, and finishes what the browser brings back.
    mcpSignIn: { redirectUrl: () => `${server?.url ?? "http://127.0.0.1"}/`, onAuthorize: () => {} },
    middleware: embedded.middleware,
  });
  try {
    const { onEvent } = embedded;
    if (onEvent) host.haft.on("*", onEvent);
    const { token, allowedHosts, allowedOrigins, ...configured } = host.config.value.server;
    const tokens = await openServerTokens(host, token);
    const console = await findConsole();
    server = await serveHttp(host, {
      host: requested.host ?? configured.host ?? "127.0.0.1",
      port: requested.port ?? configured.port ?? DEFAULT_PORT,
      tokens,
      endpoints: {
        "/mcp": createMcpHandler(host.haft, {
          version,
          resources: [serveArtifacts(host.artifacts)],
          defers: host.config.value.toolSearch.mcp === true,
          stateKey: () => host.store.keys(MCP_STATE_KEY),
          approvalAddress: (id) => (server ? `${server.url}/#/approvals/${id}` : undefined),
          onError: (error) => log(logLine("mcp", { reason: error.message })),
        }),
      },
      info: { version, workspace: host.config.folder, store: storeOf(host) },
      tls,
      allowedHosts: allowedHosts || undefined,
      allowedOrigins: allowedOrigins || undefined,
      console,
      log,
      onWarning,
    });
    const worker = await runJobs(host, onWarning);
    host.schedules.start();
    await host.sessions.start();
    const login = await server.loginUrl({ name: userName() });
    const running = server;
    return {
      host,
      server,
      login,
      hasConsole: console !== undefined,
      async close() {
        await running.close();
        await worker?.close(JOBS_GRACE_MS);
        await host.close();
      },
    };
  } catch (error) {
    await server?.close();
    await host.close();
    throw error;
  }
}

/** Also on those that were left from before. A queue that is away now is asked again with the first background call. */
async function runJobs({ haft }: HaftHost, warn: (warning: string) => void): Promise<JobWorker | undefined> {
  try {
    return await haft.jobs.work();
  } catch (error) {
    warn(`Background calls do not run here: ${(error as Error).message}`);
    return undefined;
  }
}

async function findConsole(): Promise<string | undefined> {
  const folder = join((await findPackage()) ?? "", "dist", "console");
  return access(join(folder, "index.html")).then(
    () => folder,
    () => undefined,
  );
}

function storeOf({ store, config, stateFolder }: HaftHost): { kind: "sqlite" | "postgres"; place: string } {
  if (store.database.engine === "sqlite") return { kind: "sqlite", place: join(stateFolder, STATE_FILES.store) };
  const { host, pathname } = new URL(config.value.store.url ?? "postgres://");
  // Without the user and the password.
  return { kind: "postgres", place: `${host}${pathname}` };
}

/** With the token of the configuration, which has every scope; only the configuration can revoke it. */
async function openServerTokens(host: HaftHost, configured: string | undefined): Promise<TokenStore> {
  const { clock } = host.haft;
  const all = openTokensOnUse(host.store.database, clock);
  if (configured === undefined) return all;
  const own = new MemoryTokenStore();
  const { stored } = await issueToken(own, clock, { name: "configured", scopes: SCOPES, token: configured });
  const known = (await all.list()).find(({ hash }) => hash === stored.hash);
  if (known) throw duplicateToken(known);
  return {
    ...all,
    find: (hash) => own.find(hash) ?? all.find(hash),
    list: async () => [stored, ...(await all.list())],
    remove(id) {
      if (id !== stored.id) return all.remove(id);
      throw new ApiError(
        "conflict",
        "That token is in the configuration, and would be valid again after the next start",
        "Remove `server.token` (or HAFT_SERVER_TOKEN) there, and restart the server.",
      );
    },
  };
}

/** As a configured token it would have every scope and could not be revoked. */
function duplicateToken({ name, scopes }: StoredToken): Error {
  return new Error(
    `\`server.token\` is the token "${name}" of this folder's store, which has the scopes ${scopes.join(", ") || "none"}. ` +
      "It is valid without being configured: remove it from the configuration (or HAFT_SERVER_TOKEN), or use another one.",
  );
}
