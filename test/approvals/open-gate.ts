// A gate with what approvals need of it, and everything that the runtime injects into them turned by a test.
import { tmpdir } from "node:os";
import { EventEmitter } from "../../src/core/events.ts";
import type { Registrable } from "../../src/core/adopt/adopt.ts";
import { ToolRegistry } from "../../src/core/registry.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { Executor } from "../../src/gate/executor.ts";
import { MemoryCallLog } from "../../src/gate/audit-log.ts";
import { idempotencyStages } from "../../src/gate/idempotency.ts";
import { resolve } from "../../src/gate/resolve.ts";
import { ResultCache } from "../../src/gate/result-cache.ts";
import { validate } from "../../src/gate/validate.ts";
import type { ApprovalAnswer } from "../../src/calls/approval.ts";
import { Approvals } from "../../src/calls/approvals.ts";
import { Calls, type CallsOptions } from "../../src/calls/calls.ts";
import { Permit, type PermitOptions } from "../../src/gate/permit/permit.ts";
import { StoredCallRunner } from "../../src/gate/permit/run-stored.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/fake-clock.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import type { OpenedStore } from "./open-stores.ts";

type Turned = Partial<Omit<PermitOptions, "calls" | "clock" | "events" | "contextFor">>;

export interface GateOptions extends Turned {
  store: OpenedStore;
  tools: readonly Registrable[];
  folder?: string;
  clock?: FakeClock;
  approvals?: Omit<CallsOptions, "clock" | "store">;
}

/** One process's gate. Several with one store are several processes. */
export function openGate({
  store,
  tools,
  folder = tmpdir(),
  clock = createFakeClock(),
  approvals: more,
  ...turned
}: GateOptions) {
  const events = new EventEmitter();
  const registry = new ToolRegistry({ events });
  const calls = new Calls({ clock, store: store.calls, ...more });
  const log = new MemoryCallLog();
  const { first, known, claim, begin } = idempotencyStages({ calls, cache: new ResultCache(clock), log, registry });
  const contextFor: PermitOptions["contextFor"] = (call) => gate.contextFor(call);
  const permission = new Permit({ calls, clock, events, contextFor, ...turned });
  const gate: Executor = new Executor(
    registry,
    [first, resolve(registry), validate(), known, permission, claim, begin],
    {
      workspace: folder,
      clock,
      events,
    },
  );
  for (const tool of tools) registry.register(tool);
  const runner = new StoredCallRunner({ calls, registry, gate, folder });
  const approvals = new Approvals(calls, runner);
  const resume = (id: string, answer: ApprovalAnswer) => runner.answer(id, answer);
  return {
    approvals,
    calls,
    runner,
    registry,
    clock,
    events,
    gate,
    execute: gate.execute.bind(gate),
    answer: resume,
    approve: (id: string, answer: Omit<ApprovalAnswer, "approved"> = {}) => resume(id, { ...answer, approved: true }),
    denyCall: (id: string, reason?: string) => resume(id, { approved: false, ...(reason ? { reason } : {}) }),
  };
}

export function makeFolder(): string {
  const folder = temporaryFolder("haft-approvals-");
  return folder;
}

export function idOf(result: ToolResult): string {
  if (result.status !== "pending") throw new Error(`The call is ${result.status}: ${result.display}`);
  return result.pending.id;
}
