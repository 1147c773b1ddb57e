import { access } from "node:fs/promises";
import { join } from "node:path";
import { FOREIGN_PLACES } from "../config/foreign/foreign-files.ts";
import { loadConfig } from "../config/load-config.ts";
import { type McpDialect, readMcpServers } from "../config/mcp-entries.ts";
import {
  addMcpServer,
  type McpImport,
  type McpJsonServer,
  mcpJsonOf,
  type NamedServer,
  readMcpImport,
  removeMcpServer,
  takenName,
  takenNames,
} from "../config/mcp-json.ts";
import { ConfigError, showPath } from "../config/problems.ts";
import { mcpServerDigest } from "../config/trust-items.ts";
import { openTrustStore, trustStatus } from "../config/trust.ts";
import { type UserOptions, userPaths } from "../config/user-paths.ts";
import { ApiError, notFound } from "../contracts/errors.ts";
import type { Handlers } from "../contracts/contract.ts";
import type { Contracts } from "../contracts/index.ts";
import type {
  McpImportChoice,
  McpImportRequest,
  McpImportSource,
  McpServerEntry,
  McpServerInfo,
  McpServerPreview,
  McpServerRequest,
} from "../contracts/mcp.ts";
import type { McpHub } from "../mcp/client/mcp-hub.ts";
import { shownLaunch, shownText } from "../mcp/client/tool-definition.ts";
import type { PinStore } from "../mcp/client/tool-pinning.ts";
import type { McpServerConfig } from "../mcp/server-config.ts";
import type { ApiServices } from "./capability.ts";

export interface ServerEntriesOptions {
  folder: string;
  user: UserOptions;
  hub: McpHub;
  pins: PinStore;
  /** Called before the first server is connected. */
  onAdd(server: McpServerConfig): void;
  /** Before a server is stopped. */
  onRemove(name: string): void;
}

type Endpoints =
  | "entries"
  | "preview"
  | "add"
  | "trust"
  | "remove"
  | "importSources"
  | "importPreview"
  | "import"
  | "protocol";

/** A name becomes a part of tool names. */
const SERVER_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Servers in the folder's configuration: what they would run, and adding, trusting and removing them. */
export class ServerEntries {
  readonly #options: ServerEntriesOptions;

  constructor(options: ServerEntriesOptions) {
    this.#options = options;
  }

  async list(): Promise<McpServerEntry[]> {
    const { folder, user } = this.#options;
    const { items } = await readable(trustStatus(folder, user));
    const own = mcpJsonOf(folder);
    return items.flatMap(({ name, file, line, path, what, digest, isTrusted }) => {
      if (name === undefined) return [];
      const canRemove = file === own && path === showPath(["mcpServers", name]);
      return [{ name, file, line, what, digest, isTrusted, canRemove }];
    });
  }

  async preview(name: string, request: McpServerRequest): Promise<McpServerPreview> {
    const entry = entryOf(name, request);
    const { folder, user } = this.#options;
    const text = JSON.stringify({ mcpServers: { [name]: entry } });
    const { env, home } = userPaths(user);
    const read = (dialect: McpDialect) => readable(readMcpServers({ text }, { env, home, folder, dialect }));
    const { notes } = await read("claude");
    // The values of variables are secrets. Files of Codex have none, so its reader shows them as written.
    const [server] = (await read("codex")).servers;
    const messages = notes.map(({ message }) => message);
    if (!server) throw new ApiError("bad_request", messages.join(" "), "Correct it.");
    return { ...this.#describe(server), notes: messages };
  }

  /** The person has seen what runs, so it is trusted as well. */
  async add(name: string, request: McpServerRequest): Promise<McpServerInfo> {
    await this.preview(name, request);
    return this.#write(name, entryOf(name, request));
  }

  async trust(name: string, digest: string): Promise<McpServerInfo> {
    const entry = (await this.list()).find((each) => each.name === name && each.digest === digest);
    if (!entry) {
      throw new ApiError("conflict", `The entry of "${name}" has changed since it was shown`, "Look at it again.");
    }
    return this.#connect(name, digest);
  }

  async remove(name: string): Promise<McpServerEntry[]> {
    const { folder, hub, pins } = this.#options;
    const entries = (await this.list()).filter((each) => each.name === name);
    const isRunning = hub.status().some((each) => each.name === name);
    const other = entries.find(({ canRemove }) => !canRemove);
    if (entries.length === 0 && !isRunning) throw unknownServer(name);
    if (other) {
      const where = `${other.file}${other.line === undefined ? "" : `:${other.line}`}`;
      const message = entries.length > 1 ? `"${name}" is also in ${where}` : `"${name}" is not in .mcp.json`;
      throw new ApiError("conflict", message, `Remove it from ${where}.`);
    }
    await removeMcpServer(folder, name);
    this.#options.onRemove(name);
    if (isRunning) await hub.remove(name);
    // Another program of this name must not inherit approvals.
    await pins.remove(name);
    return this.list();
  }

  async importSources(): Promise<McpImportSource[]> {
    const found: McpImportSource[] = [];
    for (const { client, file } of this.#clientFiles()) {
      if (!(await isThere(file))) continue;
      try {
        const read = await this.#readImport({ file });
        if (read.servers.length > 0) found.push(await this.#describeImport(client, file, read));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        found.push({ client, file, servers: [], notes: [error.message] });
      }
    }
    return found;
  }

  async importPreview(request: McpImportRequest): Promise<McpImportSource> {
    const read = await this.#readImport(request);
    return this.#describeImport(read.dialect, request.file, read);
  }

  async import({ names, replace = [], rename = {}, ...request }: McpImportChoice): Promise<McpServerInfo[]> {
    const { folder } = this.#options;
    const { servers } = await this.#readImport(request);
    const chosen = names.map((name): NamedServer => {
      const one = servers.find(({ server }) => server.name === name);
      if (!one) throw new ApiError("bad_request", `There is no server "${name}" in it`, "Choose one of its servers.");
      const written = Object.hasOwn(rename, name) ? rename[name]! : name;
      checkName(written);
      return { name: written, entry: one.entry };
    });
    const taken = (await takenNames(folder, chosen)).filter((name) => !replace.includes(name));
    if (taken.length > 0 || new Set(chosen.map(({ name }) => name)).size < chosen.length) {
      const what =
        taken.length > 0 ? takenName(mcpJsonOf(folder), taken).message : "Two servers would have the same name";
      throw new ApiError("conflict", what, "Send their names in `replace`, or new names in `rename`.");
    }
    const added: McpServerInfo[] = [];
    for (const { name, entry } of chosen) added.push(await this.#write(name, entry));
    return added;
  }

  #clientFiles(): { client: string; file: string }[] {
    const { folder, user } = this.#options;
    const { home } = userPaths(user);
    const places = FOREIGN_PLACES.map(({ client, in: place, path }) => ({ client, place, path }));
    // Its settings are elsewhere, so it is no place of those.
    places.unshift({ client: "Claude Code", place: "home", path: ".claude.json" });
    const files = places.map(({ client, place, path }) => ({
      client,
      file: join(place === "home" ? home : folder, path),
    }));
    return files.filter(({ file }) => file !== mcpJsonOf(folder));
  }

  /** Only files of clients: other files of this machine are nobody's business. */
  #readImport({ file, text }: McpImportRequest): Promise<McpImport> {
    const { folder, user } = this.#options;
    const { env, home } = userPaths(user);
    if (text !== undefined) return readable(readMcpImport({ text }, { env, folder, home }));
    if (file === undefined || !this.#clientFiles().some((known) => known.file === file)) {
      throw new ApiError("bad_request", "This is not a configuration file of a known client", "Paste its text.");
    }
    return readable(readMcpImport({ file }, { env, folder, home }));
  }

  async #describeImport(client: string, file: string | undefined, read: McpImport): Promise<McpImportSource> {
    const { servers, notes, imported } = read;
    const named = servers.map(({ server, entry }) => ({ name: server.name, entry }));
    const taken = await takenNames(this.#options.folder, named);
    const previews = servers.map(({ server, entry }) => {
      const preview = { ...this.#describe({ ...server, enabled: entry.disabled !== true }), notes: [] };
      // In the file, but not running.
      if (taken.includes(server.name)) preview.replaces ??= `${server.name} in .mcp.json`;
      return preview;
    });
    return { client, file, servers: previews, notes, imported };
  }

  #describe(server: McpServerConfig & { enabled?: boolean }): Omit<McpServerPreview, "notes"> {
    const { name, transport } = server;
    const replaces = this.#options.hub.status().find((each) => each.name === name)?.launch;
    const launch = shownLaunch(server);
    return { name: shownText(name, 100), transport, launch, replaces, isDisabled: server.enabled === false };
  }

  async #write(name: string, entry: McpJsonServer): Promise<McpServerInfo> {
    const { folder } = this.#options;
    // The person saw what it replaces, or an import has checked that nothing is replaced unasked.
    await readable(addMcpServer(folder, name, entry, { replaces: true }));
    // Trust is for what the person saw: another program may have rewritten the file.
    const digest = await mcpServerDigest(folder, name, entry);
    const written = (await this.list()).find((each) => each.digest === digest && each.canRemove);
    if (!written) {
      const next = "Nothing was trusted. Look at the file, and try again.";
      throw new ApiError("conflict", `Another program has changed "${name}" in .mcp.json`, next);
    }
    return this.#connect(name, written.digest);
  }

  /** With the configuration that a start of Haft would use. */
  async #connect(name: string, digest: string): Promise<McpServerInfo> {
    const { folder, user, hub, pins, onAdd } = this.#options;
    await openTrustStore(userPaths(user)).update(folder, (digests) => [...digests, digest]);
    const { mcpServers, excludedServers } = await readable(loadConfig({ folder, ...user }));
    const server = mcpServers.find((each) => each.name === name);
    const excluded = excludedServers.find((each) => each.name === name);
    if (!server && excluded) {
      throw new ApiError("conflict", `"${name}" is trusted, but: ${excluded.reason}`, "Change that setting first.");
    }
    if (!server) throw unknownServer(name);
    // First: a reload of the configuration then leaves the server alone.
    onAdd(server);
    if (hub.status().some((each) => each.name === name)) {
      await hub.remove(name);
      await pins.remove(name);
    }
    hub.add(server);
    return hub.statusOf(name);
  }
}

/** Each change is recorded before it is made. */
export function createServerEntriesApi(
  entries: ServerEntries,
  { record, hub }: Pick<ApiServices, "record"> & { hub: McpHub },
): Pick<Handlers<Contracts["mcp"]>, Endpoints> {
  const note = (action: string, by: string, data: Record<string, unknown>): Promise<void> =>
    record({ kind: "trust", caller: { user: by }, data: { action, by, ...data } });
  return {
    protocol: ({ params: { server }, query: { after } }) => {
      if (!hub.status().some(({ name }) => name === server)) throw unknownServer(server);
      return { items: hub.protocol(server, after) };
    },
    entries: async () => ({ items: await entries.list() }),
    preview: ({ params: { server }, body }) => entries.preview(server, body),
    async add({ params: { server }, body, identity: { name: by } }) {
      const { launch } = await entries.preview(server, body);
      await note("mcp_add", by, { server, launch });
      return entries.add(server, body);
    },
    async trust({ params: { server }, body: { digest }, identity: { name: by } }) {
      await note("mcp_trust", by, { server, digest });
      return entries.trust(server, digest);
    },
    async remove({ params: { server }, identity: { name: by } }) {
      await note("mcp_remove", by, { server });
      return { items: await entries.remove(server) };
    },
    importSources: async () => ({ items: await entries.importSources() }),
    importPreview: ({ body }) => entries.importPreview(body),
    async import({ body, identity: { name: by } }) {
      await note("mcp_import", by, { servers: body.names, file: body.file });
      return { items: await entries.import(body) };
    },
  };
}

function entryOf(name: string, request: McpServerRequest): McpJsonServer {
  checkName(name);
  const { command, args, env, network, sandbox, url, type = "http", headers } = request;
  if ((command === undefined) === (url === undefined)) {
    throw new ApiError("bad_request", "A server has either a command or an address", "Send `command` or `url`.");
  }
  return url === undefined ? { command, args, env, network, sandbox } : { type, url, headers };
}

function checkName(name: string): void {
  if (SERVER_NAME.test(name)) return;
  const next = "Use up to 64 letters, digits and _ . - and begin with a letter or a digit.";
  throw new ApiError("bad_request", `${JSON.stringify(name.slice(0, 100))} is not a name of a server`, next);
}

function unknownServer(name: string): ApiError {
  return notFound(`There is no MCP server "${name}"`, "mcp");
}

/** What is wrong with a configuration is the reader's to fix, not a fault of the server. */
async function readable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ConfigError) throw new ApiError("bad_request", error.message, "Correct it, and try again.");
    throw error;
  }
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
