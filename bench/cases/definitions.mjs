// What a model is told of 10,000 tools with Zod schemas of their own: the first time, and every time after.
import { interleave, median, medianRatio, runChild, SMOKE } from "../harness.mjs";

export const name = "definitions";

const TOOLS = SMOKE ? 100 : 10_000;
const ROUNDS = 5;
const PEERS = { "ai-sdk": "AI SDK asSchema().jsonSchema", langchain: "LangChain convertToOpenAITool" };

export async function run({ report, notMeasured, withoutPeers }) {
  const convert = (whose) => () => runChild("time-definitions.mjs", [whose, TOOLS]);
  const { haft, zod } = await interleave({ haft: convert("haft"), zod: convert("zod") }, ROUNDS);
  const first = (rounds) => rounds.map((round) => round.first);
  const later = (rounds) => median(rounds.map((round) => round.later));

  report({ case: "Haft, first", value: medianRatio(first(haft), first(zod)), unit: "× Zod", atMost: 1 });
  report({ case: "Haft, first, a tool", value: median(first(haft)), unit: "µs" });
  report({ case: "Haft, every later one, a tool", value: later(haft), unit: "µs", atMost: 1 });
  report({ case: "z.toJSONSchema, first, a tool", value: median(first(zod)), unit: "µs" });
  report({ case: "z.toJSONSchema, every later one, a tool", value: later(zod), unit: "µs" });
  for (const [peer, title] of Object.entries(PEERS)) {
    try {
      if (withoutPeers) throw new Error(withoutPeers);
      const answer = await convert(peer)();
      report({ case: `${title}, first, a tool`, value: answer.first, unit: "µs" });
      report({ case: `${title}, every later one, a tool`, value: answer.later, unit: "µs" });
    } catch (error) {
      notMeasured(title, error.message);
    }
  }
}
