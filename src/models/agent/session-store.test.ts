import { MemorySessionStore } from "./memory-session-store.fixture.ts";
import { describeSessionStore } from "./session-store.suite.ts";

describeSessionStore("memory", () => Promise.resolve({ store: new MemorySessionStore(() => 5) }), {
  isShared: false,
});
