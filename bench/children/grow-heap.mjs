// Arguments: how many calls. Needs --expose-gc. Prints { grownBytes } after that many calls through the gate.
import process from "node:process";
import { TOOLS } from "../add-tool.mjs";
import { makeCall } from "../callers/haft.mjs";

const IN_FLIGHT = 1000;
const count = Number(process.argv[2]);
const call = await makeCall(TOOLS["at-once"], { inFlight: IN_FLIGHT });

// Compiled code and what the runtime keeps of its last calls are there from now on.
await makeCalls(2 * IN_FLIGHT);
const before = heapUsed();
await makeCalls(count);
process.stdout.write(JSON.stringify({ grownBytes: heapUsed() - before }));

async function makeCalls(calls) {
  for (let done = 0; done < calls; done += IN_FLIGHT) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => call({ a: done, b: i })));
  }
}

function heapUsed() {
  for (let i = 0; i < 5; i++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}
