// A server and a worker under a steady load of calls, killed again and again. The ledger and the clients are outside of them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredCall } from "../../src/calls/stored-call.ts";
import { judge } from "../calls/processes/judge.ts";
import type { Heard } from "../calls/processes/play.ts";
import { randomOf } from "../calls/processes/schedule.ts";
import type { ServerParty } from "../calls/processes/parties.ts";
import type { Party, Site } from "../calls/processes/site.ts";
import { ClientParty } from "./client-party.ts";
import type { ToldCall } from "./load-client.ts";

const CLIENTS = 2;
const CALLS_AT_ONCE = 3;
/** How long a kill waits for the first answer of a server, in tenths of its delay. */
const MAX_PROGRESS_WAITS = 300;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const NOTE = "a note that is read again and again";

/** What a seed means: which processes are killed, and how long after the last start. */
function killOf(seed: number): { victims: readonly ("server" | "worker")[]; afterMs: number } {
  const random = randomOf(seed);
  const share = random();
  const victims =
    share < 0.65 ? (["server"] as const) : share < 0.85 ? (["worker"] as const) : (["server", "worker"] as const);
  return { victims, afterMs: Math.floor(50 + random() * 900) };
}

export class Endurance {
  readonly faults: string[] = [];
  kills = 0;
  judged = 0;
  unknown = 0;
  readonly #site: Site;
  readonly #clients: ClientParty[];
  readonly #audited = new Map<string, Set<string>>();
  #server: ServerParty;
  #worker: Party;
  #lastEntry = 0;

  private constructor(site: Site, clients: ClientParty[]) {
    this.#site = site;
    this.#clients = clients;
    this.#server = site.freshServer();
    this.#worker = site.freshWorker();
  }

  static async start(site: Site, clientProgram: string, seed: number): Promise<Endurance> {
    writeFileSync(join(site.folder, "note.txt"), NOTE);
    const clients = Array.from({ length: CLIENTS }, (_, index) => {
      const name = `c${seed}-${index}`;
      return new ClientParty(clientProgram, site.folder, { name, seed: seed * CLIENTS + index, atOnce: CALLS_AT_ONCE });
    });
    const endurance = new Endurance(site, clients);
    await endurance.#useServer();
    return endurance;
  }

  /** One kill, the start after it, and the judgement of all calls that have ended since the last one. */
  async kill(seed: number): Promise<void> {
    const { victims, afterMs } = killOf(seed);
    await pause(afterMs);
    // On a busy machine a server that is killed too early would never answer.
    for (let waits = 0; waits < MAX_PROGRESS_WAITS && this.#clients.every(({ told }) => told === 0); waits++)
      await pause(afterMs / 10);
    if (victims.includes("server")) {
      this.#server.kill();
      for (const client of this.#clients) client.use(undefined);
      await this.#server.ended;
      this.#server = this.#site.freshServer();
    }
    if (victims.includes("worker")) {
      this.#worker.kill();
      this.#worker = this.#site.freshWorker();
    }
    await this.#useServer();
    this.kills += victims.length;
    await this.#judgeEnded();
  }

  /** Waits for the end of all calls, and judges the rest and the whole. */
  async finish(): Promise<void> {
    try {
      await Promise.all(this.#clients.map((client) => client.stop()));
      await this.#judgeEnded();
      await this.#judgeWhole();
    } finally {
      for (const client of this.#clients) client.kill();
    }
  }

  async #useServer(): Promise<void> {
    const url = await this.#server.url();
    for (const client of this.#clients) client.use(url);
  }

  async #judgeEnded(): Promise<void> {
    const told = this.#clients.flatMap((client) => client.take());
    const rows = await this.#site.rowsOfCalls(told.filter(({ kind }) => kind !== "read").map(({ callId }) => callId));
    const effects = this.#site.effects();
    await this.#readAudit();
    for (const call of told) {
      const own = rows.filter(({ callId }) => callId === call.callId);
      const found = call.kind === "read" ? judgeRead(call) : await this.#judge(call, own, effects.get(call.item) ?? []);
      this.judged++;
      if (found.length > 0) this.faults.push([JSON.stringify(call), ...found].join("\n  "));
    }
  }

  async #judge(call: ToldCall, rows: readonly StoredCall[], effects: readonly number[]): Promise<string[]> {
    const owners = new Map<string, number | undefined>();
    const lost = new Set<string>();
    for (const row of rows) {
      const pid = await this.#site.pidOf(row);
      owners.set(row.id, pid);
      if (row.outcome === "unknown" && (await this.#site.wasKilled(pid))) lost.add(row.id);
    }
    this.unknown += lost.size;
    const { kind, said, text, answer } = call;
    const isHung = said === "unanswered";
    const heard: Heard[] = isHung ? [] : [{ party: kind, said, text, waits: true }];
    if (answer?.said !== undefined) {
      const { id: approvalId, approves } = answer;
      heard.push({ party: "answer", said: answer.said, text, waits: false, approvalId, approves });
    }
    return [
      ...judge({
        schedule: { asker: kind === "job" ? "job" : "HTTP" },
        isAllowed: kind !== "pay",
        heard,
        rows: [...rows],
        effects,
        owners,
        lost,
        hung: isHung ? [text] : [],
      }),
      ...this.#judgeAudit(call, effects),
    ];
  }

  #judgeAudit({ callId, said }: ToldCall, effects: readonly number[]): string[] {
    const kinds = this.#audited.get(callId) ?? new Set();
    const faults: string[] = [];
    if (effects.length > 0 && !kinds.has("call_begun"))
      faults.push("false: it ran, and the audit log has no beginning");
    if (said === "completed" && !kinds.has("call_ended completed"))
      faults.push("false: it completed, and the audit log has no end");
    return faults;
  }

  async #readAudit(): Promise<void> {
    for await (const { seq, kind, callId, status } of this.#site.store.audit.entries({ after: this.#lastEntry })) {
      this.#lastEntry = seq;
      if (callId === undefined) continue;
      const kinds = this.#audited.get(callId) ?? new Set();
      this.#audited.set(callId, kinds.add(kind === "call_ended" ? `${kind} ${status}` : kind));
    }
  }

  /** No effect came later, no call is left open, and the audit log is whole. */
  async #judgeWhole(): Promise<void> {
    for (const [item, effects] of this.#site.effects())
      if (effects.length > 1) this.faults.push(`doubled: ${effects.length} effects of ${item}`);
    const open = await this.#site.openCalls();
    if (open.length > 0) this.faults.push(`lost: ${open.length} calls are open: ${JSON.stringify(open.slice(0, 3))}`);
    const { problems } = await this.#site.store.audit.verify();
    for (const { message } of problems) this.faults.push(`false: ${message}`);
  }
}

function judgeRead({ said, text }: ToldCall): string[] {
  if (said === "unanswered") return [`hung: ${text}`];
  return said === "completed" && text.includes(NOTE) ? [] : [`false: the read said ${said}: ${text}`];
}
