/** How commands find the server of their workspace: `server.json` and a token next to the store, while it runs. */
import { createHash } from "node:crypto";
import { constants, lstatSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { ServerInfo } from "../contracts/server.ts";
import { isRunning } from "../io/files/file-lock.ts";
import { readVersion } from "../io/files/own-folders.ts";
import { stateFolderOf } from "../io/files/state-folder.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface ServerRecord {
  url: string;
  pid: number;
  version: string;
  /** The name of the machine: a home folder may be shared. */
  machine: string;
  /** A digest of the settings in the environment of the server. */
  settings: string;
}

const RECORD = "server.json";
const TOKEN = "server.token";
const MAX_WAIT_MS = 1000;

export interface PublishOptions {
  url: string;
  token: string;
  version: string;
  env: Environment;
}

/** Returns the function that removes the files, unless another server has replaced them. */
export async function publishServer(
  stateFolder: string,
  { url, token, version, env }: PublishOptions,
): Promise<() => void> {
  const record: ServerRecord = {
    url,
    pid: process.pid,
    version,
    machine: hostname(),
    settings: settingsOf(env),
  };
  const text = `${JSON.stringify(record, undefined, 2)}\n`;
  // The token first: a reader of the record finds it.
  await writePrivately(join(stateFolder, TOKEN), token);
  await writePrivately(join(stateFolder, RECORD), text);
  return () => {
    if (readPrivate(join(stateFolder, RECORD)) === text) remove(stateFolder);
  };
}

/** A new file for this user only, moved into place: nobody reads half of it, and a link in its place is not followed. */
async function writePrivately(file: string, text: string): Promise<void> {
  const fresh = `${file}.${process.pid}`;
  rmSync(fresh, { force: true });
  const handle = await open(fresh, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

function remove(stateFolder: string): void {
  for (const name of [RECORD, TOKEN]) rmSync(join(stateFolder, name), { force: true });
}

export interface FindOptions {
  env: Environment;
  /** Also a server with other HAFT_ variables in its environment. */
  anySettings?: boolean;
  warn(text: string): void;
}

export interface ServerAddress {
  url: string;
  token: string | undefined;
}

/** The server of this workspace. Undefined if none runs, or if it cannot be used; then `warn` has said why. */
export async function findRunningServer(
  folder: string,
  { env, anySettings = false, warn }: FindOptions,
): Promise<ServerAddress | undefined> {
  const stateFolder = stateFolderOf(folder, { env });
  const record = readRecord(stateFolder);
  // On another machine that shares the home folder, its loopback address means something else.
  if (!record || record.machine !== hostname()) return undefined;
  const { url, pid } = record;
  const skip = (why: string): undefined => {
    warn(`The server of this folder (${url}, pid ${pid}) ${why}: working without it.`);
  };
  const token = readPrivate(join(stateFolder, TOKEN));
  if (!isRunning(pid) || token === undefined) {
    // Killed before it could remove them.
    remove(stateFolder);
    return skip("no longer runs");
  }
  const version = await readVersion();
  if (record.version !== version) return skip(`has version ${record.version}, not ${version}`);
  if (!anySettings && record.settings !== settingsOf(env)) return skip("has other HAFT_ variables in its environment");
  const answer = await requestInfo(url, token);
  if (answer === undefined) return skip("does not answer");
  if (answer.version !== version || answer.workspace !== realpathSync(folder)) return skip("is not the expected one");
  return { url, token };
}

function readRecord(stateFolder: string): ServerRecord | undefined {
  const text = readPrivate(join(stateFolder, RECORD));
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<ServerRecord>;
    const { url, pid, version, machine, settings } = record;
    if (typeof url !== "string" || !URL.canParse(url) || !Number.isSafeInteger(pid) || pid === undefined)
      return undefined;
    if (typeof version !== "string" || typeof machine !== "string" || typeof settings !== "string") return undefined;
    return { url, pid, version, machine, settings };
  } catch {
    return undefined;
  }
}

/** Undefined if it is missing, is not a file of this user, or others may read or write it. */
function readPrivate(file: string): string | undefined {
  try {
    const info = lstatSync(file, { throwIfNoEntry: false });
    if (!info?.isFile()) return undefined;
    const isOwn = process.getuid === undefined || (info.uid === process.getuid() && (info.mode & 0o077) === 0);
    if (!isOwn) return undefined;
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

async function requestInfo(url: string, token: string): Promise<ServerInfo | undefined> {
  // Loaded only if a server has left its address.
  const [{ createHttpClient }, { server }, { fetchFor }] = await Promise.all([
    import("../api/http-client.ts"),
    import("../contracts/server.ts"),
    import("./fetch-by-http.ts"),
  ]);
  try {
    const client = createHttpClient({ server }, { url, token, fetch: fetchFor(url) });
    return await client.server.info({ signal: AbortSignal.timeout(MAX_WAIT_MS) });
  } catch {
    return undefined;
  }
}

/** Of the client, of the address of a server, and of where the state is: they do not change what a call does. */
const OTHER_VARIABLES = /^HAFT_(?:URL|TOKEN|HOST|PORT|SERVER_TOKEN|STATE_DIR)$/;

/** Settings of the environment must be equal: a command must not run with another mode or profile than it was given. */
function settingsOf(env: Environment): string {
  const settings = Object.entries(env).filter(
    ([name, value]) => name.startsWith("HAFT_") && !OTHER_VARIABLES.test(name) && value,
  );
  return createHash("sha256")
    .update(JSON.stringify(settings.sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");
}
