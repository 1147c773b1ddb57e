import { MemoryPinStore } from "./tool-pinning.ts";
import { pinStoreSuite } from "./pin-store.suite.ts";

pinStoreSuite("MemoryPinStore", () => new MemoryPinStore());
