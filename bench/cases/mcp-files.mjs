// `haft mcp` beside @modelcontextprotocol/server-filesystem, which keeps no record and asks for nothing: from the start to the
// list of tools, and reading a file of 600 bytes. Both servers answer the same raw JSON-RPC client over pipes.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { BENCH, childEnvironment, DIST, interleave, median, medianRatio, percentile } from "../harness.mjs";

export const name = "mcp-files";

const START_ROUNDS = 9;
const READ_ROUNDS = 9;
const READS = 300;
const TEXT = `${"a line of thirty characters..\n".repeat(20)}`;
/** The unit of the times in /proc/PID/stat. */
const TICK_MS = 10;

export async function run({ report, notMeasured, withoutPeers }) {
  if (withoutPeers) return notMeasured("haft mcp, against server-filesystem", withoutPeers);
  if (process.platform !== "linux") return notMeasured("haft mcp, against server-filesystem", "this needs /proc");
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-bench-mcp-")));
  const file = join(folder, "notes.txt");
  writeFileSync(file, TEXT);
  const peer = join(BENCH, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js");
  const servers = {
    haft: { words: [join(DIST, "cli", "main.js"), "mcp", "--folder", folder], tool: "read" },
    peer: { words: [peer, folder], tool: "read_text_file" },
  };
  const each = (work) => Object.fromEntries(Object.entries(servers).map(([key, server]) => [key, () => work(server)]));
  try {
    // The store and the tables of the sandbox are made at the first start; what is measured is every later one.
    for (const start of Object.values(each(measureStart))) await start();
    reportStart(report, await interleave(each(measureStart), START_ROUNDS));
    await reportReads(report, servers, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function reportStart(report, starts) {
  const of = (subject, field) => starts[subject].map((start) => start[field]);
  const ratio = (field) => medianRatio(of("haft", field), of("peer", field));
  report({ case: "spawn to tools/list, CPU, × server-filesystem", value: ratio("cpu"), unit: "×", atMost: 1.2 });
  report({ case: "spawn to tools/list, memory, × server-filesystem", value: ratio("memory"), unit: "×", atMost: 1.2 });
  report({ case: "spawn to tools/list, wall, × server-filesystem", value: ratio("wall"), unit: "×" });
  for (const [subject, title] of [
    ["haft", "Haft"],
    ["peer", "server-filesystem"],
  ]) {
    report({ case: `spawn to tools/list, CPU, ${title}`, value: median(of(subject, "cpu")), unit: "ms" });
    report({ case: `memory after tools/list, ${title}`, value: median(of(subject, "memory")) / 1024, unit: "MB" });
    report({ case: `bytes of definitions, ${title}`, value: median(of(subject, "bytes")) / 1024, unit: "KB" });
  }
}

async function reportReads(report, servers, file) {
  const open = {};
  try {
    for (const [key, { words, tool }] of Object.entries(servers)) {
      const server = (open[key] = new RawServer(words));
      await server.open();
      const { content } = await server.call(tool, { path: file });
      if (!content[0].text.includes(TEXT.slice(0, 29))) throw new Error(`Error: ${tool} returned ${content[0].text}`);
    }
    const subjects = Object.fromEntries(
      Object.entries(servers).map(([key, { tool }]) => [key, () => readMany(open[key], tool, file)]),
    );
    await interleave(subjects, 3);
    const reads = await interleave(subjects, READ_ROUNDS);
    const of = (subject, field) => reads[subject].map((round) => round[field]);
    const ratio = (field) => medianRatio(of("haft", field), of("peer", field));
    report({ case: "read 600 bytes, CPU, × server-filesystem", value: ratio("cpu"), unit: "×", atMost: 1.5 });
    report({ case: "read 600 bytes, wall p50, × server-filesystem", value: ratio("p50"), unit: "×", atMost: 1.5 });
    for (const [subject, title] of [
      ["haft", "Haft"],
      ["peer", "server-filesystem"],
    ]) {
      report({ case: `read 600 bytes, CPU, ${title}`, value: median(of(subject, "cpu")), unit: "ms" });
      report({ case: `read 600 bytes, wall p50, ${title}`, value: median(of(subject, "p50")), unit: "ms" });
    }
  } finally {
    for (const server of Object.values(open)) await server.close();
  }
}

async function measureStart({ words }) {
  const from = performance.now();
  const server = new RawServer(words);
  try {
    const bytes = await server.open();
    return { cpu: server.cpuMs(), memory: server.memoryKb(), wall: performance.now() - from, bytes };
  } finally {
    await server.close();
  }
}

async function readMany(server, tool, path) {
  const walls = [];
  const before = server.cpuMs();
  for (let i = 0; i < READS; i++) {
    const from = performance.now();
    await server.call(tool, { path });
    walls.push(performance.now() - from);
  }
  return { cpu: (server.cpuMs() - before) / READS, p50: percentile(walls, 0.5) };
}

/** A server over pipes, and the least client that can talk to it: it parses every answer and checks nothing. */
class RawServer {
  #child;
  #waiting = new Map();
  #rest = "";
  #lastId = 0;
  #ended;

  constructor(words) {
    const stdio = ["pipe", "pipe", "pipe"];
    this.#child = spawn(process.execPath, words, { stdio, cwd: BENCH, env: childEnvironment() });
    let errors = "";
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
    this.#child.stdout.setEncoding("utf8").on("data", (text) => this.#receive(text));
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`Error: ended with ${code}: ${errors}`));
        resolve();
      });
    });
  }

  /** Returns the bytes of the list of tools. */
  async open() {
    const clientInfo = { name: "bench", version: "1.0.0" };
    await this.#request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    this.#send({ method: "notifications/initialized" });
    const { tools } = await this.#request("tools/list", {});
    return Buffer.byteLength(JSON.stringify(tools));
  }

  async call(tool, input) {
    const result = await this.#request("tools/call", { name: tool, arguments: input });
    if (result.isError) throw new Error(`Error: ${tool}: ${JSON.stringify(result.content)}`);
    return result;
  }

  /** With the processes that it started and that have ended. */
  cpuMs() {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [11, 12, 13, 14].reduce((sum, place) => sum + Number(fields[place]), 0) * TICK_MS;
  }

  memoryKb() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, "utf8"))[1]);
  }

  async close() {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await this.#ended;
    clearTimeout(timer);
  }

  #request(method, params) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #receive(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(`Error: ${error.message}`));
      else waiting?.resolve(result);
    }
  }
}
