import { createHaft, type Haft, type HaftOptions } from "../runtime.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { type RecordedEvents, recordEvents } from "./recorded-events.ts";

/** A runtime in memory whose time stands still until it is moved, and which remembers every event. */
export interface TestHaft extends Haft {
  readonly clock: FakeClock;
  readonly recorded: RecordedEvents;
}

export function createTestHaft(options: Omit<HaftOptions, "clock"> = {}): TestHaft {
  const clock = createFakeClock();
  const haft = createHaft({ ...options, clock });
  return { ...haft, clock, recorded: recordEvents(haft) };
}
