import { readFile } from "node:fs/promises";
import type { EventOf, ToolEvent, ToolEventType } from "../core/events.ts";
import {
  type FixtureReport,
  judgeFixtureCall,
  parseFixture,
  replayCalls,
  type ReplayMode,
} from "../gate/permit/history/fixture.ts";
import { createHaft, type Haft, type HaftOptions } from "../runtime.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";

/** A runtime in memory with a fake clock that records every event. */
export interface TestHaft extends Haft {
  /** Moved by the test. */
  readonly clock: FakeClock;
  /** Every event so far. */
  readonly recorded: RecordedEvents;
}

/** Makes a runtime for tests: in memory, with a fake clock and recorded events. */
export function createTestHaft(options: Omit<HaftOptions, "clock"> = {}): TestHaft {
  const clock = createFakeClock();
  const haft = createHaft({ ...options, clock });
  return Object.assign(haft, { clock, recorded: recordEvents(haft) });
}

/** Every event of a runtime, in order. */
export interface RecordedEvents {
  /** Every event, in order. */
  readonly all: readonly ToolEvent[];
  /** The types alone, to compare an order with. */
  types(callId?: string): ToolEventType[];
  /** Those of a type. */
  of<T extends ToolEventType>(type: T): EventOf<T>[];
  /** The next event of a type, also if it has happened already but was not asked for. */
  next<T extends ToolEventType>(type: T): Promise<EventOf<T>>;
  /** Records no more. */
  stop(): void;
}

/** Records the events of a runtime from now on. */
export function recordEvents(haft: Haft): RecordedEvents {
  const all: ToolEvent[] = [];
  const taken = new Set<ToolEvent>();
  const waiting: { type: ToolEventType; resolve: (event: never) => void }[] = [];
  const stop = haft.on("*", (event) => {
    all.push(event);
    const at = waiting.findIndex(({ type }) => type === event.type);
    if (at < 0) return;
    taken.add(event);
    waiting.splice(at, 1)[0]!.resolve(event as never);
  });
  return {
    all,
    types: (callId) =>
      all
        .filter((event) => callId === undefined || ("callId" in event && event.callId === callId))
        .map(({ type }) => type),
    of: <T extends ToolEventType>(type: T) => all.filter((event): event is EventOf<T> => event.type === type),
    next<T extends ToolEventType>(type: T) {
      const happened = all.find((event): event is EventOf<T> => event.type === type && !taken.has(event));
      if (happened) {
        taken.add(happened);
        return Promise.resolve(happened);
      }
      return new Promise<EventOf<T>>((resolve) => waiting.push({ type, resolve }));
    },
    stop,
  };
}

/** How a fixture is replayed. */
export interface ReplayFixtureOptions {
  /** What is done with the calls of a tool. Default: `history`, so nothing runs. */
  tools?: Readonly<Record<string, ReplayMode>>;
  /** Throws also for what cannot be checked. */
  strict?: boolean;
}

/**
 * Judges the calls of a session again, by the policy and the tools of a runtime, and runs those of the tools that you name. Throws
 * with every difference: another verdict, an input that a tool does not accept any more, another result.
 *
 * @example
 * await replayFixture(haft, "test/refund.json", { tools: { read: "run" } });
 */
export async function replayFixture(
  haft: Haft,
  file: string,
  { tools = {}, strict = false }: ReplayFixtureOptions = {},
): Promise<FixtureReport> {
  const { rules, required } = haft.policy;
  const fixture = parseFixture(await readFile(file, "utf8"), file);
  const judged = {
    before: rules,
    after: rules,
    cwd: haft.settings.folder,
    toolOf: (name: string) => haft.tools.registry.get(name),
    required,
  };
  const report = await replayCalls(fixture, {
    modeOf: (tool) => (Object.hasOwn(tools, tool) ? (tools[tool] ?? "history") : "history"),
    judge: (calls) => Promise.all(calls.map((call) => judgeFixtureCall(call, judged))),
    run: ({ tool, input }) =>
      haft.execute(tool, input, { mode: "dontAsk", caller: { session: `replay:${fixture.session}` } }),
  });
  const left = Object.entries(report.unchecked).map(([why, count]) => `- not checked: ${count}: ${why}`);
  const isEmpty = report.judged === 0 && report.ran === 0;
  const wrong = report.differences.map(({ callId, tool, what, text }) => `- ${what} of ${tool} (${callId}): ${text}`);
  if (wrong.length > 0 || isEmpty || (strict && left.length > 0))
    throw new Error([`The session in ${file} is not as it was:`, ...wrong, ...left].join("\n"));
  return report;
}
