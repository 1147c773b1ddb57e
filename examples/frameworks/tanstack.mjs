// A chat of TanStack AI is interrupted by a call that needs a person, and continues with the answer that was given in Haft.
import { chat } from "@tanstack/ai";
import { resolveTanStackApprovals, toTanStackTools } from "haft/formats";
import { haft, pay } from "./pay.mjs";
import { adapter } from "./scripted/tanstack.mjs";

const tools = toTanStackTools({ pay });
const middleware = [tools.middleware];
const threadId = "chat-1";
let messages = [{ role: "user", content: "Pay the bill." }];

for await (const chunk of chat({ adapter, messages, threadId, tools, middleware })) {
  if (chunk.type === "MESSAGES_SNAPSHOT") messages = chunk.messages;
  if (chunk.type === "RUN_FINISHED") console.log(chunk.outcome.interrupts[0].message); //> Approval required to run pay
}
const [question] = await haft.approvals.list("pending");
await haft.approvals.approve(question.id, "ada"); //> paid 50

await resolveTanStackApprovals(tools, { messages, threadId });
for await (const chunk of chat({ adapter, messages, threadId, tools, middleware })) {
  if (chunk.type === "TEXT_MESSAGE_CONTENT") console.log(chunk.delta); //> done
}
