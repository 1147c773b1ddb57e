import type { EventOf, ToolEvent, ToolEventType } from "../core/events.ts";
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
