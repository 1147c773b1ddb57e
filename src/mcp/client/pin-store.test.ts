import { MemoryPinStore } from "./pin-store.ts";
import { pinStoreSuite } from "./pin-store.suite.ts";

pinStoreSuite("MemoryPinStore", () => new MemoryPinStore());
