import { expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { createRuntime } from "../runtime.ts";

const choice = z.enum(["concise", "detailed"]).default("concise");
const tell = (name: string, parameters: z.ZodObject) =>
  createTool({ name, description: "Tells", kind: "readonly", parameters, run: (input) => JSON.stringify(input) });
const tools = [
  tell("report", z.object({ response: choice })),
  tell("foreign", z.object({ response_format: choice })),
  tell("mood", z.object({ response: z.enum(["kind", "rude"]).default("kind") })),
  tell("plain", z.object({})),
];

test("the runtime's default is used by calls without a value, for tools that offer the choice", async () => {
  const haft = createRuntime({ tools, response: "detailed" });
  const reported = async (name: string, input = {}) => (await haft.execute(name, input)).display;
  expect(await reported("report")).toBe('{"response":"detailed"}');
  expect(await reported("report", { response: "concise" })).toBe('{"response":"concise"}');
  expect(await reported("foreign")).toBe('{"response_format":"detailed"}');
  expect(await reported("mood")).toBe('{"response":"kind"}');
  expect(await reported("plain")).toBe("{}");
});

test("without a runtime default the tool's own applies", async () => {
  expect((await createRuntime({ tools }).execute("report", {})).display).toBe('{"response":"concise"}');
});
