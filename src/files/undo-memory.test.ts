import { createMemoryUndo } from "./undo-memory.ts";
import { undoStoreSuite } from "./undo-store.suite.ts";

undoStoreSuite("in memory", async (options) => createMemoryUndo(options));
