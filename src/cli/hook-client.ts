/** Sends an event of an agent to the server of its folder, and starts one if there is none. */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorMessage } from "../core/error.ts";
import { ensureStateFolder, stateFolderOf } from "../io/files/state-folder.ts";
import type { AgentName, HookAnswer } from "../models/hook-protocols.ts";
import { decodeAnswer, HOOK_SOCKET, HOOK_TOKEN, socketAddress } from "../server/hook-socket.ts";

export interface HookRequest {
  agent: AgentName;
  event: string;
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  /** When the agent needs the answer. */
  limitMs: number;
}

/** How long a server that a hook has started stays without events. */
const IDLE = "2h";
const POLL_MS = 50;
const STARTING = "hook.starting";
/** A start that takes longer has failed. */
const MAX_START_MS = 120_000;

/** Rejects if no server answers, also none that was started for it. */
export async function askServer(request: HookRequest): Promise<HookAnswer> {
  const stateFolder = stateFolderOf(request.folder, { env: request.env });
  const until = Date.now() + request.limitMs;
  let started: Starting | undefined;
  try {
    for (;;) {
      const answer = await send(stateFolder, request, until - Date.now());
      if (answer) return answer;
      if (started?.failure !== undefined) throw new Error(started.failure);
      if (Date.now() >= until) throw new Error("The server of Haft was not there in time.");
      started ??= start(stateFolder, request);
      await sleep(POLL_MS);
    }
  } finally {
    started?.release();
  }
}

/** Undefined if no server listens. */
async function send(
  stateFolder: string,
  { agent, event }: HookRequest,
  limitMs: number,
): Promise<HookAnswer | undefined> {
  let token: string;
  let place: ReturnType<typeof socketAddress>;
  try {
    token = readFileSync(join(stateFolder, HOOK_TOKEN), "utf8").trim();
    place = socketAddress(stateFolder, HOOK_SOCKET);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  const parts: Buffer[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(place.address, () => {
        const bytes = Buffer.from(event);
        socket.write(`haft-hook 1 ${token} ${agent} ${Math.max(1, Math.floor(limitMs))} ${bytes.length}\n`);
        socket.write(bytes);
      });
      socket.setTimeout(Math.max(1, limitMs), () => socket.destroy(new Error("Haft did not answer in time.")));
      socket.on("data", (part) => parts.push(part));
      socket.once("end", resolve);
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("Haft ended before it answered.")));
    });
  } catch (error) {
    if (parts.length === 0 && NOT_THERE.has(String(errorCode(error)))) return undefined;
    throw error;
  } finally {
    place.release();
  }
  const answer = decodeAnswer(Buffer.concat(parts));
  if (!answer) throw new Error("Haft ended before it answered.");
  return answer;
}

/** No server, one that was killed, or one that is just being replaced. */
const NOT_THERE: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED", "EAGAIN"]);

interface Starting {
  failure: string | undefined;
  release(): void;
}

/** One of the hooks that come at the same time starts the server; the others wait for it. */
function start(stateFolder: string, { folder, env }: HookRequest): Starting {
  const starting: Starting = { failure: undefined, release: () => undefined };
  ensureStateFolder(stateFolder);
  const lock = join(stateFolder, STARTING);
  if (!takeLock(lock)) return starting;
  starting.release = () => rmSync(lock, { force: true });
  const log = openSync(join(stateFolder, "hook-server.log"), "w", 0o600);
  try {
    const program = process.argv[1] ?? "";
    const options = ["serve", folder, "--port", "0", "--no-open", "--idle", IDLE];
    const child = spawn(process.execPath, [...process.execArgv, program, ...options], {
      cwd: folder,
      env: withoutSettings(env),
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.once("error", (error) => (starting.failure = `The server of Haft did not start: ${errorMessage(error)}`));
    child.once("exit", (code) => {
      starting.failure = `The server of Haft did not start (exit code ${code}); see ${stateFolder}/hook-server.log.`;
    });
    child.unref();
  } finally {
    closeSync(log);
  }
  return starting;
}

/** A folder that configures the agent can set its environment, and so the mode, the store or the token of the server. */
function withoutSettings(env: HookRequest["env"]): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith("HAFT_") || name === "HAFT_STATE_DIR");
  return Object.fromEntries(kept);
}

/** False if another hook is starting the server. */
function takeLock(lock: string): boolean {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
      if (isHeld(lock)) return false;
      rmSync(lock, { force: true });
    }
  }
  return true;
}

/** By a process that is alive, and not for long. */
function isHeld(lock: string): boolean {
  try {
    if (Date.now() - statSync(lock).mtimeMs > MAX_START_MS) return false;
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
