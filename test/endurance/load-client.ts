// A client of `haft serve` in a process of its own. It makes calls over HTTP until stdin ends, sends a call again with the
// same id if its server dies, and prints what it was told, one JSON object per line. Lines on stdin: the URL of the server.
// argv: a name, a seed, the token, how many calls at a time, and how many a second (0: no limit).
import { createInterface } from "node:readline";
import { randomOf } from "../calls/processes/schedule.ts";

export const CALL_KINDS = ["read", "spend", "job", "pay"] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** What a client was told about one call, and how often it had to send it. */
export interface ToldCall {
  kind: CallKind;
  callId: string;
  /** What the line of the ledger says. */
  item: string;
  /** `completed`, an error code, or `unanswered`. */
  said: string;
  text: string;
  /** What was answered to the question, and what the answer got. Without the latter if it had to be sent twice. */
  answer?: { id: string; approves: boolean; said?: string };
  sent: number;
  ms: number;
}

type Json = Record<string, unknown>;

/** In shares of all calls. A soak has the same mix. */
const MIX: readonly CallKind[] = ["read", "read", "read", "read", "spend", "spend", "spend", "job", "job", "pay"];
/** Servers may be killed meanwhile, several times. */
const MAX_WAIT_MS = 300_000;
const AGAIN_MS = 50;
const JOB_POLL_MS = 40;
/** Calls with effects of one session run one after the other. */
const SESSIONS = 20;
/** Not an answer about the call: the server has too much to do, or another process still has the call. */
const NOT_YET = new Set(["too_many_requests", "overloaded", "busy", "shutdown"]);

const [, , name = "client", seed = "0", token = "", atOnce = "4", perSecond = "0"] = process.argv;
const random = randomOf(Number(seed));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
let url: string | undefined;
let isStopped = false;
let made = 0;

/** One call from its first request to its end. */
class ClientCall {
  readonly kind = MIX[Math.floor(random() * MIX.length)] ?? "read";
  readonly item = `${name}-${++made}`;
  readonly #session = `session-${name}-${made % SESSIONS}`;
  readonly #approves = random() < 0.85;
  readonly #input = { item: this.item, before: Math.floor(random() * 20), ms: Math.floor(random() * 30) };
  readonly #begun = Date.now();
  readonly #deadline = this.#begun + MAX_WAIT_MS;
  #sent = 0;
  #answer: ToldCall["answer"];

  async run(): Promise<ToldCall> {
    let result: Json;
    try {
      result = await this.#finish(await this.#send("POST", "/api/calls", this.#request()));
    } catch (error) {
      result = { status: "unanswered", text: String(error) };
    }
    const said = saidOf(result);
    const { kind, item } = this;
    const text = JSON.stringify(result).slice(0, 600);
    const told: ToldCall = { kind, callId: item, item, said, text, sent: this.#sent, ms: Date.now() - this.#begun };
    if (this.#answer) told.answer = this.#answer;
    return told;
  }

  #request(): Json {
    const { item, ms } = this.#input;
    const call = { id: this.item, session: this.#session };
    if (this.kind === "read") return { ...call, tool: "read", input: { path: "note.txt" } };
    if (this.kind === "pay") return { ...call, tool: "pay", input: { item, ms } };
    const background = this.kind === "job" ? true : undefined;
    return { ...call, tool: "spend", input: this.#input, background };
  }

  async #finish(result: Json): Promise<Json> {
    const pending = result["pending"] as { kind: string; id: string } | undefined;
    if (result["status"] !== "pending" || !pending) return result;
    if (pending.kind === "approval") return this.#finish(await this.#decide(pending.id));
    for (;;) {
      const job = await this.#send("GET", `/api/jobs/${pending.id}`);
      if (job["error"] || job["result"]) return (job["result"] as Json | undefined) ?? job;
      await pause(JOB_POLL_MS);
    }
  }

  async #decide(id: string): Promise<Json> {
    const decision = this.#approves ? "once" : "deny";
    const before = this.#sent;
    const answered = await this.#send("POST", `/api/approvals/${id}/answer`, { decision });
    const result = answered["result"] as Json | undefined;
    this.#answer = { id, approves: this.#approves };
    if (this.#sent === before + 1 && (result || answered["error"])) this.#answer.said = saidOf(result ?? answered);
    if (result) return result;
    for (;;) {
      const read = await this.#send("GET", `/api/approvals/${id}/result?waitMs=5000`);
      if (read["error"] || read["result"]) return (read["result"] as Json | undefined) ?? read;
    }
  }

  /** Sends it again, with the same ids, until a server answers. */
  async #send(method: string, path: string, body?: Json): Promise<Json> {
    for (;;) {
      if (Date.now() > this.#deadline) throw new Error(`no answer to ${method} ${path}`);
      const to = url;
      const answer = to === undefined ? undefined : await this.#fetch(to, method, path, body);
      if (answer && !NOT_YET.has(codeOf(answer) ?? "")) return answer;
      await pause(AGAIN_MS);
    }
  }

  async #fetch(to: string, method: string, path: string, body?: Json): Promise<Json | undefined> {
    this.#sent++;
    try {
      const response = await fetch(`${to}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(Math.max(1, this.#deadline - Date.now())),
      });
      return (await response.json()) as Json;
    } catch {
      // The connection broke, perhaps in the middle of the answer.
      return undefined;
    }
  }
}

function codeOf(answer: Json): string | undefined {
  return (answer["error"] as { code?: string } | undefined)?.code;
}

function saidOf(answer: Json): string {
  return codeOf(answer) ?? String(answer["status"] ?? "error");
}

async function one(): Promise<void> {
  const told = await new ClientCall().run();
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

/** Each starts its next call when the last one has ended. */
async function keepCalling(): Promise<void> {
  while (!isStopped) {
    await one();
    await pause(random() * 20);
  }
}

/** Starts so many calls a second, also if earlier ones have not ended, up to the limit of calls at a time. */
async function callAtRate(rate: number, max: number): Promise<void> {
  const running = new Set<Promise<void>>();
  const begun = performance.now();
  for (let count = 0; !isStopped; count++) {
    const early = begun + (count * 1000) / rate - performance.now();
    if (early > 0) await pause(early);
    while (running.size >= max) await Promise.race(running);
    const call = one().finally(() => running.delete(call));
    running.add(call);
  }
  await Promise.all(running);
}

createInterface({ input: process.stdin })
  .on("line", (line) => void (url = line || undefined))
  .on("close", () => void (isStopped = true));
while (url === undefined && !isStopped) await pause(10);
const max = Number(atOnce);
const rate = Number(perSecond);
await (rate > 0 ? callAtRate(rate, max) : Promise.all(Array.from({ length: max }, keepCalling)));
