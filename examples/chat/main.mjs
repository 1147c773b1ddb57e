// A chat of the AI SDK. A call that needs approval is a question in the page, and the answer continues the conversation.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { stepCountIs, streamText } from "ai";
import { createHaft } from "haft";
import { resolveAISDKApprovals, toAISDKTools } from "haft/formats";
import { createModel } from "./model.mjs";
import { bookFlight, bookings, findFlights } from "./travel.mjs";

const toolkit = createHaft({ tools: [findFlights, bookFlight] }).tools.toolkit("travel", [
  "find_flights",
  "book_flight",
]);
const page = readFileSync(join(import.meta.dirname, "page.html"));
/** The messages of each chat. They stay here, so a page cannot change what the model or a tool said. */
const chats = new Map();

/** One request of the page: a message of the user, or an answer to a question. */
async function answerChat({ chat, text, approvalId, approved }, response) {
  const messages = [...(chats.get(chat) ?? [])];
  if (approvalId === undefined) messages.push({ role: "user", content: text });
  else messages.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] });

  // The session binds questions to this chat. An answer to a question of another chat runs nothing.
  const tools = toAISDKTools(toolkit, { call: { caller: { session: chat } } });
  const result = streamText({
    model: createModel(),
    tools,
    messages: await resolveAISDKApprovals(tools, messages),
    stopWhen: stepCountIs(10),
  });
  await result.pipeUIMessageStreamToResponse(response);
  const said = (await result.responseMessages) ?? (await result.response).messages; // AI SDK 7, 6
  chats.set(chat, [...messages, ...said]);
}

async function respond(request, response) {
  const isJson = request.headers["content-type"] === "application/json"; // forms of other sites cannot send it
  if (request.method === "POST" && request.url === "/chat" && isJson) await answerChat(await json(request), response);
  else if (request.url === "/bookings") response.end(JSON.stringify(bookings));
  else if (request.url === "/") response.setHeader("content-type", "text/html").end(page);
  else response.writeHead(404).end();
}

const server = createServer((request, response) => {
  respond(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/ and write: I need a flight to Lisbon`);
});
