/**
 * For tests of tools and of programs that use Haft: a fake clock, recorded events, models that follow a script.
 *
 * @example
 * import assert from "node:assert";
 * import { createTool } from "haft";
 * import { createTestHaft, testTool } from "haft/testing";
 *
 * const greet = createTool({
 *   name: "greet",
 *   description: "Greets a person.",
 *   kind: "readonly",
 *   parameters: [{ name: "name", type: "string", description: "Whom", required: true }],
 *   run: ({ name }) => `Hello ${name}`,
 * });
 * await testTool(greet, { inputs: [{ name: "Ann" }] });
 * const haft = createTestHaft({ tools: [greet] });
 * await haft.execute(greet, { name: "Ann" });
 * assert(haft.recorded.types().includes("tool_call_completed"));
 *
 * @module
 */
export { createFakeClock } from "./fake-clock.ts";
export type { FakeClock } from "./fake-clock.ts";
export { createTestHaft, recordEvents, replayFixture } from "./test-haft.ts";
export type { RecordedEvents, TestHaft } from "./test-haft.ts";
export { createScriptedLanguageModel, createScriptedModel, playScript, readResults } from "./scripted-model.ts";
export type { LanguageScript, Script, ScriptedModel } from "./scripted-model.ts";
export { testTool } from "./test-tool.ts";
export type { ToolCheck } from "./test-tool.ts";
