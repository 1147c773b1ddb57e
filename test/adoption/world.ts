// The tools that every framework is given, in a runtime whose store another process can open.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Update } from "../../src/core/events.ts";
import type { AgentToolkit } from "../../src/core/toolkit.ts";
import { createHaft, type Haft } from "../../src/runtime.ts";
import { openStore } from "../../src/store/store.ts";

export interface World {
  folder: string;
  haft: Haft;
  toolkit: AgentToolkit;
  /** What `save` was given in this process. */
  saved: string[];
  /** What `book` and `cancel` did in this process. */
  bookings: string[];
  /** What `pay` has done, in all processes. */
  payments(): string[];
  /** Resolves when `wait` has noticed that it was stopped. */
  stopped: Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(folder: string): Promise<World> {
  const store = await openStore({ stateFolder: join(folder, "state") });
  const haft = createHaft({ calls: store.calls, log: store.audit });
  const ledger = join(folder, "payments");
  const saved: string[] = [];
  const bookings: string[] = [];
  for (const [name, done] of [
    ["book", "booked"],
    ["cancel", "cancelled"],
  ] as const) {
    haft.register({
      name,
      description: `Changes a booking: ${name}`,
      parameters: z.object({ seat: z.string() }),
      needsApproval: false,
      run: ({ seat }: { seat: string }) => {
        bookings.push(`${done} ${seat}`);
        return `${done} ${seat}`;
      },
    });
  }
  let noticeStop!: () => void;
  const stopped = new Promise<void>((resolve) => (noticeStop = resolve));
  haft.register({
    name: "save",
    description: "Saves a note",
    kind: "readonly",
    parameters: z.object({ text: z.string() }),
    run: ({ text }: { text: string }) => {
      saved.push(text);
      return `saved ${text}`;
    },
  });
  haft.register({
    name: "pay",
    description: "Pays a person, which must not happen twice",
    permission: "confirm",
    parameters: z.object({ to: z.string() }),
    run: ({ to }: { to: string }) => {
      appendFileSync(ledger, `${to}\n`);
      return `paid ${to}`;
    },
  });
  haft.register({
    name: "count",
    description: "Counts, and reports each number",
    kind: "readonly",
    parameters: z.object({ to: z.number() }),
    async *run({ to }: { to: number }) {
      for (let at = 1; at <= to; at++) yield `at ${at}`;
      return `counted to ${to}`;
    },
  });
  haft.register({
    name: "fail",
    description: "Fails",
    kind: "readonly",
    parameters: [],
    run: () => Promise.reject(new Error("out of paper")),
  });
  haft.register({
    name: "wait",
    description: "Waits until it is stopped",
    kind: "readonly",
    parameters: [],
    run: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        const stop = (): void => {
          noticeStop();
          reject(new Error("stopped"));
        };
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop);
      }),
  });
  return {
    folder,
    haft,
    toolkit: haft.tools.toolkit("agent", ["save", "pay", "count", "fail", "wait", "book", "cancel"]),
    saved,
    bookings,
    payments: () => (existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n").filter(Boolean) : []),
    stopped,
    async close() {
      await haft.shutdown();
      await store.close();
    },
  };
}

export function updateTexts({ content = [] }: Update): string[] {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** The open questions of a session, as a framework that has no approval ids of Haft would look for them. */
export async function askedIn(haft: Haft, session: string) {
  const open = await haft.approvals.listOpen({ session });
  return open.map(({ id: approvalId, callId, toolName }) => ({ approvalId, callId, toolName }));
}

/** For a framework whose program stores the state of a run. */
export function saveRun(folder: string, run: string, state: unknown): void {
  writeFileSync(join(folder, `run-${run}.json`), JSON.stringify(state));
}

/** Undefined if the run is new. */
export function findRun<T>(folder: string, run: string): T | undefined {
  return existsSync(join(folder, `run-${run}.json`)) ? readRun<T>(folder, run) : undefined;
}

export function readRun<T>(folder: string, run: string): T {
  return JSON.parse(readFileSync(join(folder, `run-${run}.json`), "utf8")) as T;
}
