import { MemorySessionStore } from "./session-store.ts";
import { describeSessionStore } from "./session-store.suite.ts";

describeSessionStore("memory", () => Promise.resolve({ store: new MemorySessionStore(() => 5) }), {
  isShared: false,
});
