import { MemoryTaintStore } from "./taint-store.ts";
import { describeTaintStore } from "./taint-store.suite.ts";

describeTaintStore("memory", () => new MemoryTaintStore());
