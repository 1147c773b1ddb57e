import { MemoryJournal } from "./call-journal.ts";
import { describeCallJournal } from "./call-journal.suite.ts";

describeCallJournal("memory", () => new MemoryJournal());
