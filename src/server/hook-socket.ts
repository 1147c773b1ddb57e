/**
 * Where hooks of agents reach the server: a UNIX socket and a token in the state folder, which no confined command can read. The
 * answers are short and have their length first, so a client knows when one is not whole.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { AgentCalls } from "../capabilities/agent-calls.ts";
import { errorCode, errorMessage } from "../core/error.ts";
import { type AgentName, denyAnswer, eventText, type HookAnswer, isAgentName } from "../models/hook-protocols.ts";

export const HOOK_SOCKET = "hook.sock";
export const HOOK_TOKEN = "hook.token";
/** In the root of the state folders: from the folder of an agent to the state folder of its workspace. */
const HOOK_FOLDERS = "hooks";

/** Of an event with its arguments. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;
const MAX_HEAD = 128;
const MAX_PATH = 9999;
const MAX_CONNECTIONS = 64;
const MAX_LIMIT_MS = 10 * 60_000;
/** A client sends its event at once. */
const READ_MS = 10_000;
/** Longer addresses do not fit into the address of a socket. */
const MAX_ADDRESS = 100;

/** The same token for every server of this workspace: servers that start together must not lock out each other's clients. */
function hookTokenOf(stateFolder: string): string {
  const file = join(stateFolder, HOOK_TOKEN);
  try {
    writeFileSync(file, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const info = lstatSync(file);
  const isOwn = info.isFile() && (process.getuid === undefined || info.uid === process.getuid());
  if (!isOwn || (info.mode & 0o077) !== 0) throw new Error(`${file} is not a private file of this user: remove it.`);
  return readFileSync(file, "utf8").trim();
}

/** The address of a socket in a folder, however long the path of the folder is. `release` it when it is not used any more. */
export function socketAddress(folder: string, name: string): { address: string; release(): void } {
  const address = join(folder, name);
  if (Buffer.byteLength(address) <= MAX_ADDRESS || process.platform !== "linux")
    return { address, release: () => undefined };
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { address: `/proc/self/fd/${descriptor}/${name}`, release: () => closeSync(descriptor) };
}

export interface HookSocketOptions {
  calls: AgentCalls;
  folder: string;
  stateFolder: string;
  stateRoot: string;
}

export interface HookSocket {
  /** When the last event came, in Unix milliseconds. */
  lastEventAt(): number;
  close(): Promise<void>;
}

export async function serveHooks({ calls, folder, stateFolder, stateRoot }: HookSocketOptions): Promise<HookSocket> {
  const token = hookTokenOf(stateFolder);
  const real = realpathSync.native(folder);
  let lastEventAt = Date.now();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    lastEventAt = Date.now();
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    // The client is gone: nobody needs the answer.
    socket.on("error", () => socket.destroy());
    void answerOne(socket, { calls, token, folder: real });
  });
  server.maxConnections = MAX_CONNECTIONS;
  // Moved into place: a socket that a killed server has left is replaced, and no client finds half of it.
  const fresh = `${HOOK_SOCKET}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const { address, release } = socketAddress(stateFolder, fresh);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });
  release();
  const place = join(stateFolder, HOOK_SOCKET);
  renameSync(join(stateFolder, fresh), place);
  const { ino } = lstatSync(place);
  linkFolder({ folder, stateFolder, stateRoot });
  server.unref();
  return {
    lastEventAt: () => lastEventAt,
    async close() {
      // Another server may have taken its place.
      if (lstatSync(place, { throwIfNoEntry: false })?.ino === ino) rmSync(place, { force: true });
      const closed = new Promise<void>((done) => server.close(() => done()));
      await calls.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** For the native client, which knows only the folder in which the agent runs it. */
function linkFolder({ folder, stateFolder, stateRoot }: Omit<HookSocketOptions, "calls">): void {
  const links = join(stateRoot, HOOK_FOLDERS);
  mkdirSync(links, { recursive: true, mode: 0o700 });
  const { dev, ino } = statSync(folder, { bigint: true });
  const link = join(links, `${dev}-${ino}`);
  const fresh = `${link}.${process.pid}`;
  rmSync(fresh, { force: true });
  symlinkSync(stateFolder, fresh);
  renameSync(fresh, link);
}

/**
 * `haft-hook 1 TOKEN AGENT LIMIT_MS BYTES`, a line end, and the event. The client then waits: if it closes, it is gone.
 * `native/hook.c` adds the length of a path to the line, and the path before the event: the workspace that it means, or nothing.
 */
const HEAD = /^haft-hook 1 ([0-9a-f]{64}) ([a-z]{1,16}) (\d{1,7}) (\d{1,8})(?: (\d{1,4}))?\n/;
/** The workspace is another one. The number of the folder may have been given to a new one. */
const ELSEWHERE = "3 0000000000 0000000000\n";

interface Answering {
  calls: AgentCalls;
  token: string;
  folder: string;
}

async function answerOne(socket: Socket, { calls, token, folder }: Answering): Promise<void> {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  const send = (answer: HookAnswer): void => void socket.end(encodeAnswer(answer));
  let request: HookRequest;
  try {
    request = await readRequest(socket, token);
  } catch (error) {
    return send({ exitCode: 2, stdout: "", stderr: `Haft: ${errorMessage(error)}\n` });
  }
  const { agent, event, limitMs, reason } = request;
  if (reason !== undefined) return send(denyAnswer(agent, reason, event));
  if (request.folder !== "" && realPathOf(request.folder) !== folder) return void socket.end(ELSEWHERE);
  send(
    await calls
      .answer(agent, event, { limitMs: Math.min(limitMs, MAX_LIMIT_MS), signal: gone.signal })
      .catch((error: unknown) => denyAnswer(agent, errorMessage(error), event)),
  );
}

function realPathOf(folder: string): string | undefined {
  try {
    return realpathSync.native(folder);
  } catch {
    return undefined;
  }
}

interface HookRequest {
  agent: AgentName;
  event: string;
  /** The workspace that the client means; empty if it knows that this server is of it. */
  folder: string;
  limitMs: number;
  /** Why it is denied. */
  reason?: string;
}

async function readRequest(socket: Socket, token: string): Promise<HookRequest> {
  let read = Buffer.alloc(0);
  const parts: Buffer[] = [];
  let bytes = 0;
  let head: RegExpExecArray | null = null;
  socket.setTimeout(READ_MS, () => socket.destroy(new Error("the event did not arrive in time")));
  await new Promise<void>((resolve, reject) => {
    socket.on("data", (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (!head) {
        read = Buffer.concat(parts);
        head = HEAD.exec(read.toString("latin1", 0, MAX_HEAD));
        if (!head && bytes < MAX_HEAD && !read.includes("\n")) return;
        if (!head) return reject(new Error("the hook does not speak this protocol, so the call is denied"));
      }
      if (!isSame(head[1]!, token) || bytes >= head[0].length + Number(head[4]) + Number(head[5] ?? 0)) resolve();
      else if (bytes > MAX_EVENT_BYTES + MAX_PATH + MAX_HEAD)
        reject(new Error("the event is too large, so the call is denied"));
    });
    socket.once("close", () => reject(new Error("the event is not whole")));
  }).finally(() => socket.removeAllListeners("data").resume());
  socket.setTimeout(0);
  const [start, given = "", agent = "", limit, , pathBytes] = head!;
  if (!isAgentName(agent)) throw new Error("the agent is not known, so the call is denied");
  const whole = Buffer.concat(parts);
  const eventAt = start.length + Number(pathBytes ?? 0);
  const folder = whole.toString("utf8", start.length, eventAt);
  const known = { agent, folder, event: eventText(whole.subarray(eventAt)), limitMs: Number(limit) };
  return isSame(given, token)
    ? known
    : { ...known, reason: "Haft: the hook has no valid token, so the call is denied." };
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** The exit code, the lengths in ten digits, a line end, then both texts. */
function encodeAnswer({ exitCode, stdout, stderr }: HookAnswer): Buffer {
  const [out, err] = [Buffer.from(stdout), Buffer.from(stderr)];
  const digits = (length: number): string => String(length).padStart(10, "0");
  return Buffer.concat([Buffer.from(`${exitCode} ${digits(out.length)} ${digits(err.length)}\n`), out, err]);
}

/** Undefined if the answer is not whole. */
export function decodeAnswer(bytes: Buffer): HookAnswer | undefined {
  const [head, code, out, err] = /^([02]) (\d{10}) (\d{10})\n/.exec(bytes.subarray(0, 24).toString("latin1")) ?? [];
  if (head === undefined) return undefined;
  const start = head.length;
  const middle = start + Number(out);
  if (bytes.length !== middle + Number(err)) return undefined;
  const exitCode = code === "2" ? 2 : 0;
  return { exitCode, stdout: bytes.toString("utf8", start, middle), stderr: bytes.toString("utf8", middle) };
}
