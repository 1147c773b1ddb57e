import { importHaft } from "../harness.mjs";
import * as add from "./add.mjs";

/** The whole gate on the in-memory runtime, as it is by default but for how many calls may run at once. */
export async function makeCall({ inFlight }) {
  const { createHaft, createTool } = await importHaft();
  const haft = createHaft({ tools: [createTool({ ...add, kind: "readonly" })], concurrency: { maxConcurrent: inFlight } });
  return (input) => haft.execute(add.name, input);
}

export const sumIn = (result) => result.details;
