import { serverQuestionStoreSuite } from "./server-question-store.suite.ts";
import { MemoryServerQuestionStore } from "./server-question-store.ts";

serverQuestionStoreSuite("MemoryServerQuestionStore", () => new MemoryServerQuestionStore());
