// A run of OpenAI Agents is interrupted by a call that needs a person. Its state has the answer, from its user or from Haft.
import { Agent, Runner } from "@openai/agents-core";
import { resolveOpenAIAgentsApprovals, toOpenAIAgentsTools } from "haft/formats";
import { haft, pay } from "./pay.mjs";
import { model } from "./scripted/openai-agents.mjs";

const tools = toOpenAIAgentsTools({ pay }, { call: { caller: { session: "chat-1" } } });
const agent = new Agent({ name: "Clerk", model, tools });
const runner = new Runner({ tracingDisabled: true });

const { state, interruptions } = await runner.run(agent, [{ role: "user", content: "Pay the bill." }]);
console.log(interruptions[0].name); //> pay

const [question] = await haft.approvals.list("pending");
await haft.approvals.approve(question.id, "ada"); //> paid 50

await resolveOpenAIAgentsApprovals(state);
console.log((await runner.run(agent, state)).finalOutput); //> done
