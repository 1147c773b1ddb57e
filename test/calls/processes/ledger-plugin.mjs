// The tool of the harness, as a plugin: all processes load it, the command line too. Each effect is a line in a file that
// Haft does not know.
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const failAt = process.env.HAFT_FAIL_AT;
const ledger = process.env.LEDGER;

function failPoint(name, dies) {
  if (failAt !== name && dies !== name) return;
  process.kill(process.pid, "SIGKILL");
  // The signal takes a moment to arrive; nothing may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function priceOf(workspace, item) {
  try {
    return readFileSync(join(workspace, `${item}.price`), "utf8");
  } catch {
    return "1";
  }
}

export default {
  manifest: { id: "ledger", tools: ["pay", "spend"] },
  register(api) {
    api.registerTool({
      name: "spend",
      description: "Spends once, without asking: a line in the ledger",
      kind: "execute",
      parameters: {
        type: "object",
        properties: {
          item: { type: "string" },
          before: { type: "number" },
          ms: { type: "number" },
          dies: { type: "string" },
        },
        required: ["item", "before", "ms"],
      },
      permission: "auto",
      async run({ item, before, ms, dies }) {
        await new Promise((resolve) => setTimeout(resolve, before));
        appendFileSync(ledger, `${item} ${process.pid}\n`);
        failPoint("after effect", dies);
        await new Promise((resolve) => setTimeout(resolve, ms));
        return `spent ${item}`;
      },
    });
    api.registerTool({
      name: "pay",
      description: "Pays once: a line in the ledger",
      kind: "execute",
      parameters: {
        type: "object",
        properties: { item: { type: "string" }, ms: { type: "number" }, dies: { type: "string" } },
        required: ["item", "ms"],
      },
      permission: "confirm",
      preview: async ({ item }, { workspace }) => ({
        title: "Pay",
        content: [{ type: "text", text: `Pays ${priceOf(workspace, item)}` }],
      }),
      async run({ item, ms, dies }) {
        failPoint("before effect", dies);
        appendFileSync(ledger, `${item} ${process.pid}\n`);
        failPoint("after effect", dies);
        await new Promise((resolve) => setTimeout(resolve, ms));
        return `paid ${item}`;
      },
    });
  },
};
