// A model that calls `pay` once and then says "done", so that the example needs no key. Use your own in its place.
import { createScriptedLanguageModel } from "haft/testing";

export const model = createScriptedLanguageModel([
  { calls: [{ id: "functions.pay:0", name: "pay", input: { amount: 50 } }] },
  { text: "done" },
]);
