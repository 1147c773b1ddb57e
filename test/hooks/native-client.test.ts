// The native client (native/hook.c) against the socket of hooks: it passes answers on byte by byte, becomes Node where it has no
// server, and denies everything else.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { basename, join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentCalls, HookLimits } from "../../src/capabilities/agent-calls.ts";
import { ensureStateFolder, stateFolderOf } from "../../src/io/files/state-folder.ts";
import { findNative } from "../../src/io/sandbox/engines.ts";
import type { HookAnswer } from "../../src/models/hook-protocols.ts";
import { type HookSocket, serveHooks } from "../../src/server/hook-socket.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";

const CLIENT = findNative("hook").command?.[0] ?? "";
const isHere = process.platform === "linux" && CLIENT !== "";
const MAX_EVENT = 8 * 1024 * 1024;

let root: string;
let folder: string;
let state: string;
let served: HookSocket | undefined;
let plain: Server | undefined;
const sockets: Socket[] = [];
let asked: { agent: string; event: string; limits: HookLimits }[];
let answer: (event: string) => HookAnswer | Promise<HookAnswer>;

beforeEach(() => {
  root = join(temporaryFolder(), "state");
  folder = temporaryFolder();
  state = stateFolderOf(folder, { env: { HAFT_STATE_DIR: root } });
  ensureStateFolder(state);
  asked = [];
  answer = () => ({ exitCode: 0, stdout: "said\n", stderr: "" });
});
afterEach(async () => {
  await served?.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((done) => (plain ? plain.close(done) : done(undefined)));
  served = plain = undefined;
});

async function serve(of = folder): Promise<void> {
  const calls = {
    answer: (agent: string, event: string, limits: HookLimits) => {
      asked.push({ agent, event, limits });
      return Promise.resolve(answer(event));
    },
    close: () => Promise.resolve(),
  } as unknown as AgentCalls;
  const stateFolder = stateFolderOf(of, { env: { HAFT_STATE_DIR: root } });
  served = await serveHooks({ calls, folder: of, stateFolder, stateRoot: root });
}

/** A server that behaves as the test says. */
async function serveBytes(behave: (socket: Socket) => void): Promise<void> {
  writeFileSync(join(state, "hook.token"), "a".repeat(64), { mode: 0o600 });
  plain = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    behave(socket);
  });
  await new Promise<void>((done) => plain!.listen(join(state, "hook.sock"), done));
}

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}
interface Started {
  input?: string | Buffer;
  isOpen?: boolean;
  limit?: string;
  agent?: string;
  place?: string;
  cwd?: string;
  env?: Record<string, string>;
  words?: readonly string[];
}

/** What the client becomes without a server: it says so, and what it got. A shell hides that a variable is there twice. */
const NODE = [
  "/bin/sh",
  "-c",
  `echo "NODE $(tr '\\0' '\\n' </proc/$$/environ | sed -n 's/^HAFT_STATE_DIR=//p') $(wc -c)"`,
];

function start({ input = "{}", isOpen, limit = "60000", agent = "claude", place, cwd = folder, env, words }: Started) {
  const given = words ?? [agent, limit, root, place ?? basename(state), ...NODE];
  const child = spawn(CLIENT, given, { cwd, env: { PATH: process.env["PATH"]!, ...env } });
  const seen: Ended = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (part) => (seen.stdout += String(part)));
  child.stderr.on("data", (part) => (seen.stderr += String(part)));
  child.stdin.on("error", () => undefined);
  if (isOpen) child.stdin.write(input);
  else child.stdin.end(input);
  const ended = new Promise<Ended>((done) => child.once("close", (code) => done({ ...seen, code })));
  return { child, ended };
}
const run = (started: Started = {}): Promise<Ended> => start(started).ended;

const refused = (reason: string) => ({ code: 2, stdout: "", stderr: `Haft: ${reason} The call is denied.\n` });
const becameNode = (bytes: number) => ({ code: 0, stdout: `NODE ${root} ${bytes}\n`, stderr: "" });

describe.runIf(isHere)("the native client", { timeout: 60_000 }, () => {
  test("passes the event and the answer on, byte by byte", async () => {
    await serve();
    const event = JSON.stringify({ text: "é\u0000 \n", long: "x".repeat(3_000_000) });
    answer = () => ({ exitCode: 2, stdout: "ö".repeat(100_000), stderr: "why\n" });
    const ended = await run({ input: event, limit: "50000", agent: "codex" });
    expect(ended).toEqual({ code: 2, stdout: "ö".repeat(100_000), stderr: "why\n" });
    expect(asked[0]).toMatchObject({ agent: "codex", event });
    expect(asked[0]!.limits.limitMs).toBeLessThanOrEqual(50_000);
    expect(asked[0]!.limits.limitMs).toBeGreaterThan(10_000);
  });

  test("becomes Node, with its state folder and the whole event, where no server listens", async () => {
    const input = "y".repeat(200_000);
    const env = { HAFT_STATE_DIR: "/elsewhere" };
    expect(await run({ input, env }), "no token").toEqual(becameNode(200_000));
    await serve();
    await served!.close();
    expect(await run({ input, env }), "no socket").toEqual(becameNode(200_000));
    const left = createServer();
    await new Promise<void>((done) => left.listen(join(state, "left"), done));
    symlinkSync(join(state, "left"), join(state, "hook.sock"));
    renameSync(join(state, "left"), join(state, "gone"));
    expect(await run({ input, env }), "a link to nothing").toEqual(becameNode(200_000));
    rmSync(join(state, "hook.sock"));
    await new Promise((done) => left.close(done));
    writeFileSync(join(state, "hook.sock"), "");
    expect(await run({ input, env }), "a file").toEqual(becameNode(200_000));
    for (const token of ["", "short"]) {
      writeFileSync(join(state, "hook.token"), token);
      expect(await run({ input }), `the token "${token}"`).toEqual(becameNode(200_000));
    }
    rmSync(join(state, "hook.token"));
    await serve();
    expect(await run({ input }), "a server").toMatchObject({ stdout: "said\n" });
    renameSync(join(state, "hook.token"), join(state, "token"));
    symlinkSync(join(state, "token"), join(state, "hook.token"));
    expect(await run({ input }), "a token that is a link").toEqual(becameNode(200_000));
    await served!.close();
    rmSync(state, { recursive: true });
    expect(await run({ input }), "no state folder").toEqual(becameNode(200_000));
  });

  test("finds the workspace as Node does, and no server of another one", async () => {
    writeFileSync(join(folder, "haft.config.yml"), "");
    const below = join(folder, "a", "b");
    mkdirSync(below, { recursive: true });
    await serve();
    answer = () => ({ exitCode: 0, stdout: "said\n", stderr: "" });
    const said = { code: 0, stdout: "said\n", stderr: "" };
    expect(await run({ place: ":", cwd: below })).toEqual(said);
    const elsewhere = temporaryFolder();
    const named = { place: ":CLAUDE_PROJECT_DIR", cwd: elsewhere };
    expect(await run({ ...named, env: { CLAUDE_PROJECT_DIR: below } })).toEqual(said);
    expect(await run({ ...named, env: { CLAUDE_PROJECT_DIRS: below } })).toEqual(becameNode(2));
    // Spellings that Node would write in another way.
    for (const spelled of [`${below}/`, `${folder}//a`, `${below}/.`, `${folder}/a/../a`, `${folder}/./a`])
      expect(await run({ ...named, env: { CLAUDE_PROJECT_DIR: spelled } }), spelled).toEqual(becameNode(2));
    expect(await run({ ...named, env: { CLAUDE_PROJECT_DIR: "a/b" }, cwd: below })).toEqual(said);
    // The nearest mark counts: a folder of its own in the workspace is another workspace.
    mkdirSync(join(below, ".git"));
    expect(await run({ place: ":", cwd: below })).toEqual(becameNode(2));
    rmSync(join(below, ".git"), { recursive: true });
    expect(await run({ place: ":", cwd: "/" })).toEqual(becameNode(2));
    // The server of a folder that was renamed is not the one of the folder that has its number now.
    const count = asked.length;
    renameSync(folder, `${folder}-renamed`);
    const input = "z".repeat(300_000);
    expect(await run({ place: ":", cwd: join(`${folder}-renamed`, "a"), input })).toEqual(becameNode(300_000));
    expect(asked.length).toBe(count);
    renameSync(`${folder}-renamed`, folder);
  });

  test("reaches a state folder whose path is too long for the address of a socket", async () => {
    root = join(root, "d".repeat(90), "e".repeat(90));
    state = stateFolderOf(folder, { env: { HAFT_STATE_DIR: root } });
    ensureStateFolder(state);
    await serve();
    expect(await run()).toMatchObject({ code: 0, stdout: "said\n" });
  });

  test.each([
    ["nothing", ""],
    ["a part of the head", "0 00000"],
    ["no texts", "0 0000000004 0000000000\n"],
    ["half a text", "0 0000000004 0000000000\nab"],
    ["more than it says", "0 0000000001 0000000000\nab"],
    ["a length that is too large", "0 9999999999 9999999999\nab"],
  ])("denies if the server ends after %s", async (_name, bytes) => {
    await serveBytes((socket) => socket.once("data", () => socket.end(bytes)));
    expect(await run()).toEqual(refused("Haft ended before it answered."));
  });

  test.each([
    ["another exit code", "1 0000000000 0000000000\n"],
    ["a length that is no number", "0 00000000-1 0000000000\n"],
    ["another form", `{"decision":"pass"}${" ".repeat(30)}`],
  ])("denies an answer with %s", async (_name, bytes) => {
    await serveBytes((socket) => socket.once("data", () => socket.end(bytes)));
    expect(await run()).toEqual(refused("The answer cannot be read."));
  });

  test("denies an answer that never ends, and one that is too large", async () => {
    await serveBytes((socket) => socket.once("data", () => socket.write("0 0000000000 0000000000\n")));
    expect(await run({ limit: "700" })).toEqual(refused("Haft did not answer in time."));
    const large = `0 ${String(2 << 20).padStart(10, "0")} 0000000000\n${"x".repeat(2 << 20)}`;
    plain!.removeAllListeners("connection").on("connection", (socket) => {
      sockets.push(socket.on("error", () => undefined).once("data", () => socket.end(large)));
    });
    expect(await run()).toEqual(refused("Haft ended before it answered."));
  });

  test("denies if the server does not answer, or does not read, in time", async () => {
    await serveBytes((socket) => void socket.pause());
    expect(await run({ limit: "500" })).toEqual(refused("Haft did not answer in time."));
    expect(await run({ limit: "500", input: "x".repeat(4_000_000) })).toEqual(
      refused("Haft did not read the event in time."),
    );
    expect(await run({ limit: "no number" })).toMatchObject({ code: 2 });
  });

  test("gives the event to Node if the server ends before it has the event", async () => {
    await serveBytes((socket) => void socket.once("data", () => socket.destroy()));
    expect(await run({ input: "x".repeat(6_000_000) })).toEqual(becameNode(6_000_000));
  });

  test("denies an event that is too large, is not whole in time, or cannot be read", async () => {
    await serve();
    expect(await run({ input: Buffer.alloc(MAX_EVENT + 1, "x") })).toEqual(refused("The event is too large."));
    expect(await run({ input: Buffer.alloc(MAX_EVENT, "x") })).toMatchObject({ code: 0, stdout: "said\n" });
    expect(await run({ input: '{"half', isOpen: true, limit: "600" })).toEqual(
      refused("The event did not come in time."),
    );
    const closed = spawn("/bin/sh", ["-c", `${CLIENT} claude 9000 ${root} ${basename(state)} /bin/false <&-`]);
    expect(await new Promise((done) => closed.once("close", done))).toBe(2);
    expect(asked).toHaveLength(1);
  });

  test("denies an event that is no text, and keeps nothing of what comes after an event", async () => {
    await serve();
    const event = Buffer.from('{"a":"?"}');
    event[event.indexOf("?")] = 0xff;
    expect(await run({ input: event })).toMatchObject({ code: 2, stderr: expect.stringContaining("not UTF-8") });
    expect(asked).toEqual([]);
    answer = () => new Promise(() => undefined);
    const socket = connect(join(state, "hook.sock")).on("error", () => undefined);
    sockets.push(socket);
    socket.write(`haft-hook 1 ${readFileSync(join(state, "hook.token"), "utf8")} claude 60000 2\n{}`);
    await until(() => asked.length === 1);
    const before = process.memoryUsage().arrayBuffers;
    const part = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < 64; sent++) await new Promise((done) => socket.write(part, done));
    await until(() => socket.writableLength === 0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(48 * 1024 * 1024);
  });

  test("its wait ends in the server when the agent stops it", async () => {
    await serve();
    answer = () => new Promise(() => undefined);
    const { child, ended } = start({});
    await until(() => asked.length === 1);
    expect(asked[0]!.limits.signal?.aborted).toBe(false);
    child.kill("SIGKILL");
    await ended;
    await until(() => asked[0]!.limits.signal?.aborted === true);
  });

  test("cannot be led elsewhere by its arguments, and shows its token to nobody", async () => {
    await serve();
    const token = readFileSync(join(state, "hook.token"), "utf8");
    answer = () => new Promise(() => undefined);
    const { child } = start({ env: { HAFT_STATE_DIR: "/tmp" } });
    await until(() => asked.length === 1);
    for (const file of ["cmdline", "environ"])
      expect(readFileSync(`/proc/${child.pid}/${file}`, "latin1")).not.toContain(token);
    child.kill("SIGKILL");
    // More words in the name of the agent would be more words in the head.
    answer = () => ({ exitCode: 0, stdout: "said\n", stderr: "" });
    for (const agent of ["claude 99999 1", "a".repeat(17), "unknown", ""])
      expect(await run({ agent }), agent).toMatchObject({ code: 2, stdout: "" });
    for (const words of [
      [],
      ["claude"],
      ["claude", "1", root, "x"],
      ["claude", "1", root, "y".repeat(300), "/bin/true"],
    ])
      expect(await run({ words })).toMatchObject({ code: 2, stdout: "" });
    await served!.close();
    expect(await run({ words: ["claude", "9000", root, basename(state), "/not/there"] })).toMatchObject({ code: 2 });
    const file = join(folder, "not-executable");
    writeFileSync(file, "");
    chmodSync(file, 0o600);
    expect(await run({ words: ["claude", "9000", root, basename(state), file] })).toMatchObject({ code: 2 });
  });
});
