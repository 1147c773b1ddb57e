// What an HTTP call costs beside a bare Hono route, and what a server holds: a thousand event streams, five hundred calls at
// once, a hundred clients that never pause.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { BENCH, DIST, interleave, median, medianRatio, percentile, SMOKE } from "../harness.mjs";

export const name = "http";

const CONNECTIONS = 20;
const CALLS = SMOKE ? 400 : 4000;
const ROUNDS = 9;
const STREAMS = SMOKE ? 50 : 1000;
const EVENTS_A_CALL = 3;
const IN_FLIGHT = 500;
const CALLS_IN_FLIGHT = SMOKE ? 1000 : 10_000;
const CLIENTS = 100;
const ASKERS = 10;
const WARM_UP_MS = SMOKE ? 100 : 3000;
const CLIENTS_MS = SMOKE ? 500 : 8000;
const PROBE_MS = 50;
const UNANSWERED_MS = 30_000;

export async function run(context) {
  await reportCost(context);
  await reportStreams(context);
  await reportInFlight(context);
  await reportClients(context);
}

/** CPU time of the server alone: the client is another process. */
async function reportCost({ report }) {
  const servers = { haft: await start("haft"), bare: await start("bare") };
  const round = (server) => async () => {
    const before = await server.usage();
    const begun = performance.now();
    await call(server, "echo", CALLS, CONNECTIONS);
    const wall = performance.now() - begun;
    return { cpu: cpuMs(before, await server.usage()) / CALLS, wall: wall / CALLS };
  };
  for (const server of Object.values(servers)) await call(server, "echo", CALLS, CONNECTIONS);
  const taken = await interleave({ haft: round(servers.haft), bare: round(servers.bare) }, ROUNDS);
  const of = (which, what) => taken[which].map((each) => each[what]);
  report({ case: "bare Hono route", value: median(of("bare", "cpu")) * 1000, unit: "µs CPU of the server" });
  report({ case: "Haft, a trivial tool", value: median(of("haft", "cpu")) * 1000, unit: "µs CPU of the server" });
  report({
    case: "Haft, CPU of the server",
    value: medianRatio(of("haft", "cpu"), of("bare", "cpu")),
    unit: "× bare Hono",
    atMost: 1.3,
  });
  report({
    case: "Haft, wall time of a call",
    value: medianRatio(of("haft", "wall"), of("bare", "wall")),
    unit: "× bare Hono",
    atMost: 1.5,
  });
  for (const server of Object.values(servers)) server.end();
}

async function reportStreams({ report }) {
  const server = await start("haft");
  await call(server, "echo", 100, 1);
  const before = await server.usage();
  const readers = await Promise.all(Array.from({ length: STREAMS }, () => openStream(server)));
  const open = await server.usage();
  report({ case: "open event streams", value: open.streams, unit: "streams", atLeast: STREAMS });
  report({ case: "heap of one open stream", value: (open.heap - before.heap) / STREAMS / 1000, unit: "KB" });
  const calls = 20;
  const begun = performance.now();
  await call(server, "echo", calls, 1);
  await Promise.all(readers.map((reader) => reader.received(calls * EVENTS_A_CALL)));
  const took = performance.now() - begun;
  report({ case: "an event to all of them (wall)", value: took / (calls * EVENTS_A_CALL), unit: "ms" });
  const lost = readers.filter((reader) => reader.events() !== calls * EVENTS_A_CALL).length;
  report({ case: "streams that missed an event", value: lost, unit: "streams", atMost: 0 });
  for (const reader of readers) reader.close();
  server.end();
}

async function reportInFlight({ report }) {
  const server = await start("haft");
  await call(server, "turn", IN_FLIGHT, IN_FLIGHT);
  const latencies = await call(server, "turn", CALLS_IN_FLIGHT, IN_FLIGHT);
  report({ case: `${IN_FLIGHT} calls in flight, p50 (wall)`, value: percentile(latencies, 0.5), unit: "ms" });
  report({ case: `${IN_FLIGHT} calls in flight, p99 (wall)`, value: percentile(latencies, 0.99), unit: "ms" });
  const spread = percentile(latencies, 0.99) / percentile(latencies, 0.5);
  report({ case: "p99 beside p50", value: spread, unit: "×", atMost: 10 });
  report({ case: "calls that were lost", value: CALLS_IN_FLIGHT - latencies.length, unit: "calls", atMost: 0 });
  server.end();
}

/** The command as users start it, with its store; each client sends the next call when it has the answer. */
async function reportClients({ report }) {
  const goals = { current_time: 1200, read: 1000 };
  for (const [tool, atLeast] of Object.entries(goals)) {
    const server = await startCommand();
    const { calls, health, refused, unanswered } = await load(server, { tool });
    await server.end();
    const title = `${CLIENTS} clients, ${tool}`;
    report({ case: `${title} (wall)`, value: (calls.length / CLIENTS_MS) * 1000, unit: "calls/s", atLeast });
    report({ case: `${title}, CPU of the server`, value: server.cpuMs() / calls.length, unit: "ms a call" });
    report({ case: `${title}, p50 (wall)`, value: percentile(calls, 0.5), unit: "ms" });
    report({ case: `${title}, p99 (wall)`, value: percentile(calls, 0.99), unit: "ms", atMost: 250 });
    report({ case: `${title}, a new connection meanwhile, p99 (wall)`, value: percentile(health, 0.99), unit: "ms" });
    report({ case: `${title}, refused with 429 or 503`, value: refused, unit: "requests" });
    report({ case: `${title}, unanswered`, value: unanswered, unit: "requests", atMost: 0 });
  }
  const server = await startCommand();
  const { questions, answers, unanswered } = await load(server, { tool: "read", askers: ASKERS });
  await server.end();
  const title = `${ASKERS} clients that write and approve beside them`;
  report({ case: `${title}: question, p99 (wall)`, value: percentile(questions, 0.99), unit: "ms", atMost: 500 });
  report({
    case: `${title}: answer to the end, p99 (wall)`,
    value: percentile(answers, 0.99),
    unit: "ms",
    atMost: 500,
  });
  report({ case: `${title}: unanswered`, value: unanswered, unit: "requests", atMost: 0 });
}

/** A client costs little, because it runs beside the server: its requests are made once, and its answers are not parsed. */
async function load(server, { tool, askers = 0 }) {
  const taken = { calls: [], health: [], questions: [], answers: [], refused: 0, unanswered: 0 };
  let begun = Number.POSITIVE_INFINITY;
  const isOver = () => performance.now() > begun + CLIENTS_MS;
  const count = (list, { status, ms }) => {
    if (performance.now() < begun) return;
    if (status === 200 || status === 202) list.push(ms);
    else if (status === 429 || status === 503) taken.refused++;
    else taken.unanswered++;
  };
  const input = tool === "read" ? { path: "README.md" } : {};
  const client = async () => {
    const connection = await Connection.open(server);
    const request = connection.request("POST", "/api/calls", { tool, input });
    while (!isOver()) count(taken.calls, await connection.send(request));
    connection.close();
  };
  const asker = async (_, number) => {
    const connection = await Connection.open(server);
    for (let n = 0; !isOver(); n++) {
      const asked = { path: `file-${number}.txt`, content: `${n}` };
      const call = { tool: "write", input: asked, id: `${number}-${n}`, session: `asker-${number}` };
      const question = await connection.send(connection.request("POST", "/api/calls", call));
      count(taken.questions, question);
      const { pending } = JSON.parse(question.body);
      const path = `/api/approvals/${pending.id}/answer`;
      count(taken.answers, await connection.send(connection.request("POST", path, { decision: "once" })));
    }
    connection.close();
  };
  const probe = async () => {
    while (!isOver()) {
      const started = performance.now();
      const connection = await Connection.open(server);
      const { status } = await connection.send(connection.request("GET", "/api/health"));
      count(taken.health, { status, ms: performance.now() - started });
      connection.close();
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  };
  const all = [...Array.from({ length: CLIENTS }, client), ...Array.from({ length: askers }, asker), probe()];
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  server.startCpu();
  begun = performance.now();
  await Promise.all(all);
  return taken;
}

/** One request after the other over one connection. */
class Connection {
  static async open({ port, token }) {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    await once(socket, "connect");
    return new Connection(socket, `127.0.0.1:${port}`, token);
  }

  #text = "";
  #answer = () => undefined;

  constructor(socket, host, token) {
    this.host = host;
    this.socket = socket;
    this.token = token;
    socket.setEncoding("latin1").on("data", (chunk) => this.#read(chunk));
    socket.on("error", () => this.#answer({ status: 0 }));
    socket.on("close", () => this.#answer({ status: 0 }));
  }

  request(method, path, body) {
    const content = body === undefined ? "" : JSON.stringify(body);
    const headers = [`host: ${this.host}`, "content-type: application/json", `authorization: Bearer ${this.token}`];
    return `${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\ncontent-length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
  }

  /** Never rejects. */
  send(request) {
    const begun = performance.now();
    return new Promise((resolve) => {
      const late = setTimeout(() => this.socket.destroy(), UNANSWERED_MS);
      this.#answer = (answer) => {
        clearTimeout(late);
        resolve({ ...answer, ms: performance.now() - begun });
      };
      this.socket.write(request);
    });
  }

  close() {
    this.socket.destroy();
  }

  #read(chunk) {
    this.#text += chunk;
    const head = this.#text.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0);
    if (this.#text.length < head + 4 + length) return;
    const body = this.#text.slice(head + 4);
    const status = Number(this.#text.slice(9, 12));
    this.#text = "";
    this.#answer({ status, body });
  }
}

async function startCommand() {
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-"));
  mkdirSync(join(folder, "work"));
  writeFileSync(join(folder, "work", "README.md"), "A line to read\n".repeat(20));
  const token = "b".repeat(43);
  const child = spawn(process.execPath, [join(DIST, "cli", "main.js"), "serve", "--port", "0", "--json", "--no-open"], {
    cwd: join(folder, "work"),
    env: { ...process.env, HOME: folder, HAFT_STATE_DIR: join(folder, "state"), HAFT_SERVER_TOKEN: token },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const line = await new Promise((resolve, reject) => {
    let text = "";
    child.once("exit", () => reject(new Error("The server did not start.")));
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) resolve(text);
    });
  });
  child.removeAllListeners("exit");
  let before = 0;
  let used = 0;
  return {
    startCpu: () => (before = cpuMsOf(child.pid)),
    cpuMs: () => used,
    port: Number(new URL(JSON.parse(line).url).port),
    token,
    end: () =>
      new Promise((resolve) => {
        used = cpuMsOf(child.pid) - before;
        child.once("exit", () => {
          rmSync(folder, { recursive: true, force: true });
          resolve();
        });
        child.kill("SIGKILL");
      }),
  };
}

/** Of another process, from Linux; elsewhere not a number. */
function cpuMsOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

function start(which) {
  const child = fork(join(BENCH, "children", "serve-http.mjs"), [which], { execArgv: ["--expose-gc"] });
  const answer = () => new Promise((resolve) => child.once("message", resolve));
  return answer().then(({ port, token }) => ({
    port,
    token,
    usage() {
      const answered = answer();
      child.send("usage");
      return answered;
    },
    end: () => child.kill(),
  }));
}

/** Makes calls over so many connections, and gives how long each took. One that fails is a fault of the case. */
async function call({ port, token }, tool, calls, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const body = JSON.stringify({ tool, input: { text: "hello" } });
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    authorization: `Bearer ${token}`,
  };
  const one = () =>
    new Promise((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port, path: "/api/calls", method: "POST", agent, headers },
        (response) => {
          const chunks = [];
          response.on("data", (chunk) => chunks.push(chunk));
          response.on("end", () => {
            const { status } = JSON.parse(Buffer.concat(chunks));
            if (status === "completed") resolve();
            else reject(new Error(`A call was answered with ${Buffer.concat(chunks).toString()}`));
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  const latencies = [];
  let left = calls;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) {
        const begun = performance.now();
        await one();
        latencies.push(performance.now() - begun);
      }
    }),
  );
  agent.destroy();
  return latencies;
}

function openStream({ port, token }) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let events = 0;
    let rest = "";
    let onReceived = () => {};
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      const lines = (rest + chunk.toString("latin1")).split("\n");
      rest = lines.pop();
      events += lines.filter((line) => line.startsWith("event: tool_call_")).length;
      if (lines.some((line) => line.startsWith("event: hello"))) resolve(reader);
      onReceived();
    });
    const reader = {
      events: () => events,
      received: (wanted) =>
        new Promise((done) => {
          onReceived = () => events >= wanted && done();
          onReceived();
        }),
      close: () => socket.destroy(),
    };
    socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  });
}

function cpuMs(before, after) {
  return (after.cpu.user - before.cpu.user + after.cpu.system - before.cpu.system) / 1000;
}
