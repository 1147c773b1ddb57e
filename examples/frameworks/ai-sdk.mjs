// The AI SDK asks its user about a call. The user can answer there, or somebody in Haft, as here.
import { generateText } from "ai";
import { resolveAISDKApprovals, toAISDKTools } from "haft/formats";
import { haft, pay } from "./pay.mjs";
import { model } from "./scripted/ai-sdk.mjs";

const tools = toAISDKTools({ pay }, { call: { caller: { session: "chat-1" } } });
const messages = [{ role: "user", content: "Pay the bill." }];

const first = await generateText({ model, tools, messages });
console.log(first.content.map(({ type }) => type).join(", ")); //> tool-call, tool-approval-request
messages.push(...(first.responseMessages ?? first.response.messages)); // AI SDK 7, 6

const [question] = await haft.approvals.list("pending");
await haft.approvals.approve(question.id, "ada"); //> paid 50

const answered = await resolveAISDKApprovals(tools, messages);
console.log((await generateText({ model, tools, messages: answered })).text); //> done
