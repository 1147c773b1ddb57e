// What the HTTP door costs beside a bare Hono route, and what it holds: a thousand event streams, five hundred calls at once.
import { fork } from "node:child_process";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { BENCH, interleave, median, medianRatio, percentile } from "../harness.mjs";

export const name = "http";

const CONNECTIONS = 20;
const CALLS = 4000;
const ROUNDS = 9;
const STREAMS = 1000;
const EVENTS_A_CALL = 3;
const IN_FLIGHT = 500;

export async function run(context) {
  await reportCost(context);
  await reportStreams(context);
  await reportInFlight(context);
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
