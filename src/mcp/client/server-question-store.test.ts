import { serverQuestionStoreSuite } from "./server-question-store.suite.ts";
import { MemoryServerQuestionStore } from "./elicitation.ts";

serverQuestionStoreSuite("MemoryServerQuestionStore", () => new MemoryServerQuestionStore());
