import { MemoryScheduleStore } from "./schedule-store.ts";
import { describeScheduleStore } from "./schedule-store.suite.ts";

describeScheduleStore("memory", () => new MemoryScheduleStore());
