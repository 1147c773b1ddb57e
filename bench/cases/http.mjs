// What an HTTP call costs beside a bare Hono route, and what a server holds: a thousand event streams, five hundred calls at
// once, a hundred clients that never pause.
import { fork, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { BENCH, DIST, interleave, median, medianRatio, percentile } from "../harness.mjs";

export const name = "http";

const CONNECTIONS = 20;
const CALLS = 4000;
const ROUNDS = 9;
const STREAMS = 1000;
const EVENTS_A_CALL = 3;
const IN_FLIGHT = 500;
const CLIENTS = 100;
const CLIENTS_MS = 8000;
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
  await call(server, "turn", 2000, IN_FLIGHT);
  const latencies = await call(server, "turn", 10_000, IN_FLIGHT);
  report({ case: `${IN_FLIGHT} calls in flight, p50 (wall)`, value: percentile(latencies, 0.5), unit: "ms" });
  report({ case: `${IN_FLIGHT} calls in flight, p99 (wall)`, value: percentile(latencies, 0.99), unit: "ms" });
  const spread = percentile(latencies, 0.99) / percentile(latencies, 0.5);
  report({ case: "p99 beside p50", value: spread, unit: "×", atMost: 10 });
  report({ case: "calls that were lost", value: 10_000 - latencies.length, unit: "calls", atMost: 0 });
  server.end();
}

/** The command as users start it, with its store; each client sends the next call when it has the answer. */
async function reportClients({ report }) {
  const server = await startCommand();
  const until = performance.now() + CLIENTS_MS;
  const taken = { calls: [], connections: [], health: [], refused: 0, unanswered: 0 };
  const count = (list, { status, ms }) => {
    if (status === 200) list.push(ms);
    else if (status === 429 || status === 503) taken.refused++;
    else taken.unanswered++;
  };
  const keep = new Agent({ keepAlive: true });
  const client = async () => {
    while (performance.now() < until) count(taken.calls, await ask(server, keep, "read"));
  };
  const probe = async (list, agentOf) => {
    while (performance.now() < until) {
      count(list, await ask(server, agentOf()));
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  };
  await Promise.all([
    ...Array.from({ length: CLIENTS }, client),
    probe(taken.connections, () => new Agent({ keepAlive: false })),
    probe(taken.health, () => keep),
  ]);
  keep.destroy();
  await server.end();
  const of = (list, share) => percentile(list, share);
  const { calls, connections, health, refused, unanswered } = taken;
  report({ case: `${CLIENTS} clients, calls (wall)`, value: (calls.length / CLIENTS_MS) * 1000, unit: "calls/s" });
  report({ case: `${CLIENTS} clients, p50 (wall)`, value: of(calls, 0.5), unit: "ms" });
  report({ case: `${CLIENTS} clients, p99 (wall)`, value: of(calls, 0.99), unit: "ms" });
  report({ case: `${CLIENTS} clients, p99 over p50`, value: of(calls, 0.99) / of(calls, 0.5), unit: "×", atMost: 8 });
  report({ case: "a new connection meanwhile, p99 (wall)", value: of(connections, 0.99), unit: "ms" });
  report({ case: "health meanwhile, p99 (wall)", value: of(health, 0.99), unit: "ms" });
  report({ case: "refused with 429 or 503", value: refused, unit: "requests" });
  report({ case: "unanswered", value: unanswered, unit: "requests", atMost: 0 });
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
  return {
    port: Number(new URL(JSON.parse(line).url).port),
    token,
    end: () =>
      new Promise((resolve) => {
        child.once("exit", () => {
          rmSync(folder, { recursive: true, force: true });
          resolve();
        });
        child.kill("SIGKILL");
      }),
  };
}

/** One call of a tool, or without one a request of the health. Never rejects. */
function ask({ port, token }, agent, tool) {
  const body = tool === undefined ? undefined : JSON.stringify({ tool, input: { path: "README.md" } });
  const headers =
    body === undefined
      ? {}
      : {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          authorization: `Bearer ${token}`,
        };
  const path = body === undefined ? "/api/health" : "/api/calls";
  const begun = performance.now();
  return new Promise((resolve) => {
    const done = (status) => resolve({ status, ms: performance.now() - begun });
    const sent = request(
      { host: "127.0.0.1", port, path, method: body === undefined ? "GET" : "POST", agent, headers },
      (response) => {
        response.resume();
        response.on("end", () => done(response.statusCode));
        response.on("error", () => done(0));
      },
    );
    sent.setTimeout(UNANSWERED_MS, () => sent.destroy());
    sent.on("error", () => done(0));
    sent.end(body);
  });
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
