import { MemoryTaintStore } from "./taint.ts";
import { describeTaintStore } from "./taint-store.suite.ts";

describeTaintStore("memory", () => new MemoryTaintStore());
