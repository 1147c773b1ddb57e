// Plays one schedule with real processes, and collects what every party was told.
import { writeFileSync } from "node:fs";
import { loadavg, cpus } from "node:os";
import { join } from "node:path";
import type { StoredCall } from "../../../src/calls/stored-call.ts";
import type { Payment } from "./library-party.ts";
import type { CallToMake, Told } from "./parties.ts";
import type { AnswererName, AskerName, Schedule } from "./schedule.ts";
import type { Site } from "./site.ts";

export interface Heard extends Told {
  party: string;
  /** The question that it is about; undefined for an asker. */
  approvalId?: string;
  /** Whether it said that it waits for the end of the call. */
  waits: boolean;
  approves?: boolean;
}

export interface Played {
  schedule: Schedule;
  item: string;
  heard: Heard[];
  /** The questions about the call, oldest first. */
  rows: StoredCall[];
  /** The processes in which the effect happened. */
  effects: readonly number[];
  /** The process that ran each row. */
  owners: ReadonlyMap<string, number | undefined>;
  /** Parties that were not told anything in time. */
  hung: string[];
  /** Whether the process was killed that should be. It may have ended before, or never come to that point. */
  hasKilled: boolean;
  /** The ids of the rows whose process was killed after it started the call. */
  lost: ReadonlySet<string>;
}

interface Asking {
  told: Promise<Told>;
  waits: boolean;
  kill(): void;
  /** How this asker gets the result after it was told `pending`. */
  later(pendingId: string): Promise<Told>;
}

/** Nobody waits longer than this after the others are done. On a busy machine processes take longer. */
function patienceMs(): number {
  return 5_000 * Math.max(1, (2 * loadavg()[0]!) / cpus().length);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function play(schedule: Schedule, site: Site): Promise<Played> {
  return new Round(schedule, site).play();
}

class Round {
  readonly #schedule: Schedule;
  readonly #site: Site;
  readonly #call: CallToMake;
  readonly #heard: Heard[] = [];
  readonly #hung: string[] = [];
  #formState: Promise<string | undefined> = Promise.resolve(undefined);
  readonly #started: { readonly isDead: boolean; close(): Promise<void> }[] = [];

  constructor(schedule: Schedule, site: Site) {
    this.#schedule = schedule;
    this.#site = site;
    const item = `item-${schedule.seed}-${Math.random().toString(36).slice(2, 8)}`;
    const input: Payment = { item, ms: schedule.effectMs };
    if (schedule.kill?.who === "owner") input.dies = String(schedule.kill.at);
    this.#call = { callId: `call-${item}`, session: `session-${item}`, input };
  }

  async play(): Promise<Played> {
    const { asker, answers, kill, changes, effectMs, repeats } = this.#schedule;
    const { item } = this.#call.input;
    // A job needs a process that stays: it is the worker if the one that submitted the job ends.
    if (asker === "job") await this.#site.server().ready();
    let asking = this.#ask(asker, kill?.who === "asker" ? kill.at : undefined);
    let asked = this.#listenToAsker(asking);
    let question = await this.#firstQuestion(asked);
    // Its process was killed before it asked, perhaps by another round.
    for (let tries = 0; question === undefined && tries < 5; tries++) {
      asking = this.#ask(asker, undefined);
      asked = this.#listenToAsker(asking);
      question = await this.#firstQuestion(asked);
    }
    if (question === undefined) throw new Error("Nobody was asked.");
    const asks = question;
    if (changes) writeFileSync(join(this.#site.folder, `${item}.price`), "2");
    if (kill?.who === "asker" && typeof kill.at === "number") {
      void pause(kill.at).then(() => asking.kill());
    }
    const answered = answers.map(async ({ by, approves, delayMs }, index) => {
      await pause(delayMs);
      return this.#answer(by, {
        id: asks,
        approves,
        killAt: kill?.who === "answerer" && index === 0 ? kill.at : undefined,
      });
    });
    await Promise.all(answered);
    await this.#answerTheRest();
    await this.#within("nobody ran it", this.#untilEnded(), effectMs);
    const first = await this.#within(`asker (${asker})`, asked, effectMs);
    const isLater = first?.said === "pending" && first.pending !== undefined;
    // For an MCP client the same call again is another call, once it has the result.
    if (isLater || (repeats && !asker.startsWith("MCP"))) await this.#askLater(asking, first?.pending?.id ?? question);
    const rows = await this.#site.rowsOf(item);
    const effects = this.#site.effectsOf(item);
    const owners = new Map<string, number | undefined>();
    const lost = new Set<string>();
    for (const row of rows) {
      const pid = await this.#site.pidOf(row);
      owners.set(row.id, pid);
      if (row.outcome === "unknown" && (await this.#site.wasKilled(pid))) lost.add(row.id);
    }
    // They end in order, perhaps while they run calls of other rounds.
    for (const party of this.#started) if (!party.isDead) void party.close();
    return {
      schedule: this.#schedule,
      item,
      heard: this.#heard,
      rows,
      effects,
      hung: this.#hung,
      hasKilled: this.#started.some(({ isDead }) => isDead),
      owners,
      lost,
    };
  }

  #listenToAsker({ told, waits }: Asking): Promise<Told> {
    return this.#listen(`asker (${this.#schedule.asker})`, told, { waits });
  }

  /** The id of the question; undefined if the asker was killed before it asked. */
  async #firstQuestion(asked: Promise<Told>): Promise<string | undefined> {
    let told: Told | undefined;
    void asked.then((end) => (told = end));
    for (;;) {
      const hasEnded = told !== undefined;
      const [row] = await this.#site.rowsOf(this.#call.input.item);
      if (row) return row.id;
      if (hasEnded && (told?.said === "killed" || told?.said === "gone")) return undefined;
      if (hasEnded) throw new Error(`Nobody was asked: ${JSON.stringify(told)}`);
      await pause(10);
    }
  }

  /** Questions that are still open: their answerer was killed, or what was shown has changed. The person tries again. */
  async #answerTheRest(): Promise<void> {
    for (let rounds = 0; rounds < 5; rounds++) {
      const rows = await this.#site.rowsOf(this.#call.input.item);
      const open = rows.find(({ state }) => state === "waiting");
      if (open) await this.#answer("library", { id: open.id, approves: true });
      else if (rows.every(({ state }) => state === "ended")) return;
      else await pause(20);
    }
  }

  async #untilEnded(): Promise<void> {
    for (;;) {
      const rows = await this.#site.rowsOf(this.#call.input.item);
      const open = rows.find(({ state }) => state === "waiting");
      if (open) await this.#answer("library", { id: open.id, approves: true });
      else if (rows.every(({ state }) => state === "ended")) return;
      await pause(20);
    }
  }

  async #askLater(asking: Asking, pendingId: string): Promise<void> {
    const { effectMs, asker } = this.#schedule;
    const name = `asker later (${asker})`;
    let id = pendingId;
    for (let tries = 0; tries < 20; tries++) {
      const later = await this.#within(name, asking.later(id), effectMs);
      if (!later) return;
      // What was shown has changed: there is another question.
      if (later.pending?.kind === "approval" && later.pending.id !== id) {
        ({ id } = later.pending);
        continue;
      }
      this.#heard.push({ ...later, party: name, waits: true });
      // Its process may have been killed by another round.
      if (later.said !== "killed" && later.said !== "gone") return;
    }
    this.#hung.push(name);
  }

  #listen(party: string, told: Promise<Told>, more: Omit<Heard, "party" | keyof Told>): Promise<Told> {
    return told.then((end) => {
      this.#heard.push({ ...end, ...more, party });
      return end;
    });
  }

  #own<P extends { readonly isDead: boolean; close(): Promise<void> }>(party: P): P {
    this.#started.push(party);
    return party;
  }

  async #within<T>(what: string, work: Promise<T>, extraMs: number): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        this.#hung.push(what);
        resolve(undefined);
      }, patienceMs() + extraMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #ask(asker: AskerName, killAt: KillAt): Asking {
    const site = this.#site;
    const call = this.#call;
    const isFresh = killAt !== undefined;
    const failAt = typeof killAt === "string" ? killAt : undefined;
    switch (asker) {
      case "library that waits":
      case "library that leaves":
      case "program":
      case "session":
      case "job": {
        const waits = asker === "library that waits";
        const party = isFresh ? this.#own(site.freshLibrary(waits, failAt)) : site.library(waits);
        const what = ORDERS[asker];
        const again = asker === "session" ? "follow session" : what;
        return {
          waits,
          told: party.order({ do: what, ...call }),
          kill: () => party.kill(),
          // With its id: the process that asked may be dead.
          later: () => site.library(false).order({ do: again, ...call }),
        };
      }
      case "command line": {
        const { item, ms, dies } = call.input;
        const words = ["tools", "call", "pay", `item=${item}`, `ms:=${ms}`];
        if (dies !== undefined) words.push(`dies=${dies}`);
        words.push("--session", call.session, "--id", call.callId);
        if (!this.#schedule.usesServer) words.push("--no-server");
        const run = this.#own(site.command(words, { failAt }));
        return { waits: false, told: run.told, kill: run.kill, later: () => site.command(words).told };
      }
      case "MCP that holds":
      case "MCP that leaves": {
        const waits = asker === "MCP that holds";
        const party = isFresh ? this.#own(site.freshMcp(waits, failAt)) : site.mcp(waits);
        // A server that is new has no memory of the client's calls, so the approval is asked about.
        const later = (id: string): Promise<Told> =>
          isFresh || party.isDead ? site.library(false).order({ do: "follow", id }) : party.call(call);
        return { waits, told: party.call(call), kill: () => party.kill(), later };
      }
      case "MCP with a form": {
        const party = isFresh ? this.#own(site.freshServer(failAt)) : site.server();
        const told = party.callByForm(call);
        this.#formState = told.then(({ state }) => state);
        const later = async (): Promise<Told> => site.otherServer().callByForm(call, await this.#formState);
        return { waits: false, told, kill: () => party.kill(), later };
      }
      case "HTTP": {
        const party = isFresh ? this.#own(site.freshServer(failAt)) : site.server();
        const later = (id: string): Promise<Told> => site.server().follow(id);
        return { waits: false, told: party.call(call), kill: () => party.kill(), later };
      }
    }
  }

  async #answer(
    by: AnswererName,
    { id, approves, killAt }: { id: string; approves: boolean; killAt?: KillAt },
  ): Promise<void> {
    const { told, kill } = this.#startAnswer(by, id, approves, killAt);
    if (typeof killAt === "number") void pause(killAt).then(() => kill());
    const name = `answerer (${by})`;
    const heard = this.#listen(name, told, { approvalId: id, waits: true, approves });
    await this.#within(name, heard, this.#schedule.effectMs);
  }

  #startAnswer(by: AnswererName, id: string, approves: boolean, killAt: KillAt): Pick<Asking, "told" | "kill"> {
    const site = this.#site;
    const isFresh = killAt !== undefined;
    const failAt = typeof killAt === "string" ? killAt : undefined;
    switch (by) {
      case "library": {
        const party = isFresh ? this.#own(site.freshLibrary(false, failAt)) : site.library(false);
        return { told: party.order({ do: approves ? "approve" : "deny", id }), kill: () => party.kill() };
      }
      case "HTTP": {
        const party = isFresh ? this.#own(site.freshServer(failAt)) : site.server();
        return { told: party.answer(id, approves ? "once" : "deny"), kill: () => party.kill() };
      }
      case "MCP": {
        const party = isFresh ? this.#own(site.freshServer(failAt)) : site.otherServer();
        const answer = async (): Promise<Told> => {
          const state = await this.#formState;
          // The client never got the form.
          if (state === undefined) return { said: "gone", text: "" };
          return party.callByForm(this.#call, state, approves ? "once" : "deny");
        };
        return { told: answer(), kill: () => party.kill() };
      }
      case "command line": {
        const words = ["approvals", approves ? "approve" : "deny", id];
        if (!this.#schedule.usesServer) words.push("--no-server");
        return this.#own(site.command(words, { failAt }));
      }
    }
  }
}

const ORDERS = {
  "library that waits": "ask",
  "library that leaves": "ask",
  program: "ask by program",
  job: "ask by job",
  session: "ask by session",
} as const;

type KillAt = string | number | undefined;
