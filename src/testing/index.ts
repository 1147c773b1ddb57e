// What `import { … } from "haft/testing"` gives.

export { createFakeClock } from "./fake-clock.ts";
export type { FakeClock } from "./fake-clock.ts";
export { recordEvents } from "./test-haft.ts";
export type { RecordedEvents } from "./test-haft.ts";
export { createScriptedModel, playScript, readResults } from "./scripted-model.ts";
export type { ModelView, Script, ScriptedCall, ScriptedModel, ScriptedTurn } from "./scripted-model.ts";
export { createScriptedLanguageModel } from "./scripted-model.ts";
export type { LanguageModelRequest, LanguageScript, ScriptedLanguageTurn } from "./scripted-model.ts";
export { createTestHaft } from "./test-haft.ts";
export type { TestHaft } from "./test-haft.ts";
export { testTool } from "./test-tool.ts";
export type { TestToolOptions, ToolCheck } from "./test-tool.ts";
