// A call that needs a person interrupts the graph. The person can answer there, or somebody in Haft, as here.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { toLangChainTools } from "haft/formats";
import { createAgent } from "langchain";
import { haft, pay } from "./pay.mjs";

// Calls `pay` once and then says "done". Use your own model in its place.
const model = fakeModel().respondWithTools([{ id: "call_1", name: "pay", args: { amount: 50 } }]);
model.respond(new AIMessage("done"));

const tools = toLangChainTools({ pay }, { DynamicStructuredTool });
const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
const thread = { configurable: { thread_id: "chat-1" } };

const waiting = await agent.invoke({ messages: "Pay the bill." }, thread);
const { approvalId, actionRequests } = waiting.__interrupt__[0].value;
console.log(actionRequests[0].name); //> pay

await haft.approvals.approve(approvalId, "ada"); //> paid 50

const ended = await agent.invoke(new Command({ resume: { approvalId } }), thread);
console.log(ended.messages.at(-1).content); //> done
