/**
 * For tests of tools and of programs that use Haft: a fake clock, recorded events, models that follow a script.
 *
 * @example
 * import { createTestHaft, testTool } from "haft/testing";
 *
 * await testTool(add, { inputs: [{ a: 1, b: 2 }] });
 * const haft = createTestHaft({ tools: [add] });
 * await haft.execute(add, { a: 1, b: 2 });
 * expect(haft.recorded.types()).toContain("tool_call_completed");
 *
 * @module
 */
export { createFakeClock } from "./fake-clock.ts";
export type { FakeClock } from "./fake-clock.ts";
export { createTestHaft, recordEvents } from "./test-haft.ts";
export type { RecordedEvents, TestHaft } from "./test-haft.ts";
export { createScriptedLanguageModel, createScriptedModel, playScript, readResults } from "./scripted-model.ts";
export type { LanguageScript, Script, ScriptedModel } from "./scripted-model.ts";
export { testTool } from "./test-tool.ts";
export type { ToolCheck } from "./test-tool.ts";
