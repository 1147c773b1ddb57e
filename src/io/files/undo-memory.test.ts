import { createMemoryUndo } from "./undo-store.ts";
import { undoStoreSuite } from "./undo-store.suite.ts";

undoStoreSuite("in memory", async (options) => createMemoryUndo(options));
