// MODEL=provider/name uses a real model, with the key in PROVIDER_API_KEY. Without it a script answers, so no key is needed.
import { loadModel } from "haft/agent";
import { createScriptedLanguageModel } from "haft/testing";

const configured = process.env.MODEL && (await loadModel({ model: process.env.MODEL }));

/** The model for one request. */
export const createModel = () => configured || createScriptedLanguageModel(Array(5).fill(nextTurn));

// Reads the conversation so far, as a model does: it looks for flights, then books the cheapest one.
function nextTurn({ prompt }) {
  const last = prompt.at(-1);
  if (last.role === "user") {
    const to = /\bto (\p{L}+)/u.exec(last.content.map(({ text }) => text).join(" "))?.[1];
    if (!to) return { text: "Where do you want to go? For example: a flight to Lisbon." };
    return { text: `I look for flights to ${to}. `, calls: [{ name: "find_flights", input: { to } }] };
  }
  const { toolName, output } = last.content.findLast(({ type }) => type === "tool-result");
  if (toolName === "find_flights") {
    const cheapest = JSON.parse(output.value).toSorted((a, b) => a.price - b.price)[0];
    if (!cheapest) return { text: "There is no flight to that city tomorrow." };
    const { number, departs, price } = cheapest;
    return {
      text: `${number} at ${departs} is the cheapest: ${price} EUR. Shall I book it?`,
      calls: [{ name: "book_flight", input: { number } }],
    };
  }
  return {
    text: output.type === "text" ? "Your flight is booked. Have a good trip!" : "I have not booked the flight.",
  };
}
