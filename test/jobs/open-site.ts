import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolResult } from "../../src/core/result.ts";
import { createHaft, type Haft } from "../../src/runtime.ts";
import { openStore } from "../../src/store/store.ts";
import { type LedgerTool, ledgerTool } from "./ledger-tool.ts";
import { type JobLocation, openQueue } from "./open-queue.ts";
import type { WorkOrder } from "./work-process.ts";

/** A queue on a server, a client, which is this process, and workers, which are others. */
export interface Site {
  readonly haft: Haft;
  startWorker(options?: { concurrency?: number; tools?: LedgerTool[]; failAt?: string }): Promise<ChildProcess>;
  /** Of a background call, once its job has ended. */
  call(toolName: string, id: string): Promise<ToolResult>;
  /** The id of the job. */
  submit(toolName: string, id: string): Promise<string>;
  readLedger(what: string): LedgerFacts;
  begun(options?: { by?: ChildProcess }): number;
  /** Whether the audit log has that the tool began. */
  isRecorded(callId: string): Promise<boolean>;
  workersInLedger(): number;
  terminalEvents(callId: string): number;
  close(): Promise<void>;
}

export interface LedgerFacts {
  begins: number;
  ends: number;
  /** Whether it began in a second process before it had ended in the first. */
  overlaps: boolean;
}

export interface SiteOptions {
  folder: string;
  /** The worker, bundled: `work-process.ts`. */
  program: string;
  place: JobLocation;
  tools: LedgerTool[];
}

/** Starting is what costs a machine most: some at a time, for everybody. */
const STARTS_AT_ONCE = 3;
let starting = 0;

async function inTurn<T>(start: () => Promise<T>): Promise<T> {
  while (starting >= STARTS_AT_ONCE) await new Promise((resolve) => setTimeout(resolve, 20));
  starting++;
  try {
    return await start();
  } finally {
    starting--;
  }
}

export async function openSite({ folder, program, place, tools }: SiteOptions): Promise<Site> {
  const ledger = join(folder, `ledger-${place.namespace}`);
  writeFileSync(ledger, "");
  const store = await openStore({ url: place.storeUrl });
  const haft = createHaft({
    tools: tools.map((tool) => ledgerTool(tool, ledger)),
    calls: store.calls,
    log: store.audit,
    jobs: openQueue(place, store.calls),
    worker: false,
  });
  const workers = new Set<ChildProcess>();
  const terminal: string[] = [];
  haft.on("tool_call_completed", ({ callId }) => void terminal.push(callId));
  haft.on("tool_call_failed", ({ callId }) => void terminal.push(callId));
  const lines = (): string[][] =>
    readFileSync(ledger, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(" "));
  const submit = async (toolName: string, id: string): Promise<string> => {
    const result = await haft.execute(toolName, { what: id }, { id, caller: { session: place.namespace } });
    if (result.status !== "pending") throw new Error(`Not accepted: ${JSON.stringify(result)}`);
    return result.pending.id;
  };
  return {
    haft,
    submit,
    call: async (toolName, id) => haft.jobs.wait(await submit(toolName, id)),
    startWorker: ({ concurrency = 4, tools: own = tools, failAt = "" } = {}) =>
      inTurn(async () => {
        const order: WorkOrder = { place, ledger, tools: own, concurrency };
        const worker = spawn(process.execPath, [program, JSON.stringify(order)], {
          stdio: ["ignore", "pipe", "inherit"],
          env: { ...process.env, HAFT_FAIL_AT: failAt },
        });
        workers.add(worker);
        await new Promise<void>((resolve, reject) => {
          worker.stdout.on("data", (text) => String(text).includes("ready") && resolve());
          worker.once("exit", () => reject(new Error("The worker ended before it began.")));
        });
        return worker;
      }),
    readLedger: (what) => factsOf(lines().filter((line) => line[1] === what)),
    begun: ({ by } = {}) =>
      lines().filter(([kind, , pid]) => kind === "begin" && (by === undefined || pid === String(by.pid))).length,
    isRecorded: async (callId) =>
      (await store.audit.call(callId))?.entries.some(({ kind }) => kind === "call_begun") ?? false,
    workersInLedger: () => new Set(lines().map((line) => line[2])).size,
    terminalEvents: (callId) => terminal.filter((each) => each === callId).length,
    async close() {
      for (const worker of workers) worker.kill("SIGKILL");
      await haft.shutdown();
      await store.close();
    },
  };
}

function factsOf(lines: readonly string[][]): LedgerFacts {
  const overlaps = lines.some(([kind, , pid], i) => {
    const rest = lines.slice(i + 1);
    const end = rest.findIndex((line) => line[2] === pid && line[0] === "end");
    return kind === "begin" && rest.slice(0, Math.max(end, 0)).some((line) => line[0] === "begin");
  });
  const count = (kind: string): number => lines.filter((line) => line[0] === kind).length;
  return { begins: count("begin"), ends: count("end"), overlaps };
}
