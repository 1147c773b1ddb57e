// MODEL=provider/name uses a real model, with the key in PROVIDER_API_KEY. Without it a script answers, so no key is needed.
import { loadModel } from "haft/agent";
import { createScriptedLanguageModel } from "haft/testing";

const runTests = { calls: [{ name: "exec", input: { command: "node --test" } }] };
const script = [
  runTests,
  { calls: [{ name: "read", input: { path: "cart.mjs" } }] },
  {
    calls: [
      {
        name: "edit",
        input: {
          path: "cart.mjs",
          old_text: "{ price }) => sum + price",
          new_text: "{ price, quantity }) => sum + price * quantity",
        },
      },
    ],
  },
  runTests,
  ({ prompt }) => ({
    text: JSON.stringify(prompt.at(-1)).includes(" fail 0")
      ? "`total` ignored the quantity. It is fixed, and the test passes."
      : "The test still fails.",
  }),
];

export const model = process.env.MODEL
  ? await loadModel({ model: process.env.MODEL })
  : createScriptedLanguageModel(script);
