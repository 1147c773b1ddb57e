// Arguments: a file of callers/, a tool of add-tool.mjs, how many calls are in flight, rounds, and which direct call.
// Prints { direct: µs, subject: µs, ratio }.
// The direct call takes turns with the subject in the same process, whose other loads therefore weigh on both.
import process from "node:process";
import { TOOLS } from "../add-tool.mjs";
import { interleave, median, medianRatio, SMOKE, timed } from "../harness.mjs";

const BATCH_MS = SMOKE ? 5 : 60;
/** The compiler has settled by then. Until then calls cost several times as much, and long batches say nothing. */
const WARM_MS = SMOKE ? 50 : 1500;
const [caller, toolName, inFlightText, roundsText, yardstick = "direct"] = process.argv.slice(2);
const inFlight = Number(inFlightText);
const direct = await import(`../callers/${yardstick}.mjs`);
const subject = await import(`../callers/${caller}.mjs`);

const directBatch = await prepareBatch(direct);
const subjectBatch = await prepareBatch(subject);
const times = await interleave({ direct: directBatch, subject: subjectBatch }, Number(roundsText));
const answer = {
  direct: median(times.direct),
  subject: median(times.subject),
  ratio: medianRatio(times.subject, times.direct),
};
// Peers leave timers and connections behind.
process.stdout.write(JSON.stringify(answer), () => process.exit());

/** Returns a function that makes a batch of calls, warm and long enough to be timed, and says its µs a call. */
async function prepareBatch({ makeCall, prepare = (input) => input, sumIn = (sum) => sum }) {
  const call = await makeCall(TOOLS[toolName], { inFlight });
  const inputs = Array.from({ length: Math.max(1000, inFlight) }, (_, i) => prepare({ a: i, b: 1 }));
  const sum = sumIn(await call(inputs[2]));
  if (sum !== 3) throw new Error(`Error: ${caller} says that 2 + 1 is ${sum}`);
  const many = inFlight === 1 ? (count) => oneByOne(call, inputs, count) : (count) => together(call, inputs, count);

  for (let warmMs = 0; warmMs < WARM_MS;) warmMs += await timed(() => many(inputs.length));
  let count = inputs.length;
  while ((await timed(() => many(count))) < BATCH_MS) count *= 2;
  return async () => ((await timed(() => many(count))) * 1000) / count;
}

async function oneByOne(call, inputs, count) {
  for (let i = 0; i < count; i++) await call(inputs[i % inputs.length]);
}

async function together(call, inputs, count) {
  for (let done = 0; done < count; done += inputs.length) await Promise.all(inputs.map((input) => call(input)));
}
