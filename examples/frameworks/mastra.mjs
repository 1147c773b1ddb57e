// A call that needs a person suspends the run of a Mastra agent, and approveToolCall resumes it. Needs Node 22.13.
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { toMastraTools } from "haft/formats";
import { pay } from "./pay.mjs";
import { mastraModel as model } from "./scripted/mastra.mjs";

const tools = toMastraTools({ pay }, { createTool });
const agent = new Agent({ id: "clerk", name: "Clerk", instructions: "Pay bills.", model, tools });
// The storage keeps runs that wait.
const mastra = new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
const clerk = mastra.getAgent("agent");

const { fullStream, runId } = await clerk.stream("Pay the bill.");
let toolCallId;
for await (const { type, payload } of fullStream) {
  if (type === "tool-call-suspended") ({ toolCallId } = payload);
}
console.log(toolCallId); //> call_1

const resumed = await clerk.approveToolCall({ runId, toolCallId }); //> paid 50
console.log(await resumed.text); //> done
