// MODEL=provider/name uses a real model, with the key in PROVIDER_API_KEY. Without it a script answers, so no key is needed.
import { loadModel } from "haft/agent";
import { createScriptedLanguageModel } from "haft/testing";

const configured = process.env.MODEL && (await loadModel({ model: process.env.MODEL }));

/** The model for one conversation. */
export const createModel = () => configured || createScriptedLanguageModel([lookUp, payBack, reply]);

// Each turn of the script reads the conversation so far, as a model does.
const lookUp = ({ prompt }) => ({
  calls: [{ name: "find_order", input: { id: /\d{4}/.exec(JSON.stringify(prompt.at(-1).content))[0] } }],
});
const payBack = ({ prompt }) => {
  const { id, total } = JSON.parse(lastResult(prompt));
  return { calls: [{ name: "refund", input: { order: id, amount: total } }] };
};
const reply = ({ prompt }) => ({
  text: lastResult(prompt).includes("refunded")
    ? "I am sorry for the trouble. We have sent your money back."
    : "I am sorry, we cannot refund this order now. A colleague will write to you.",
});

function lastResult(prompt) {
  const { value } = prompt.at(-1).content.at(-1).output;
  return typeof value === "string" ? value : JSON.stringify(value);
}
