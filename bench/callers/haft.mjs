import { importHaft } from "../harness.mjs";

/** The whole gate on the in-memory runtime, as it is by default but for how many calls may run at once. */
export async function makeCall(tool, { inFlight }) {
  const { createHaft, createTool } = await importHaft();
  const tools = [createTool({ ...tool, kind: "readonly" })];
  const haft = createHaft({ tools, concurrency: { maxConcurrent: inFlight } });
  return (input) => haft.execute(tool.name, input);
}

export const sumIn = (result) => result.details;
