// The tools of the shop: one reads an order, one pays money back.
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createTool, toolError } from "haft";
import { z } from "zod";

const orders = [
  { id: "1001", customer: "ada", item: "mug", total: 18 },
  { id: "1002", customer: "ben", item: "coffee machine", total: 349 },
];

const book = join(import.meta.dirname, "refunds.jsonl");
rmSync(book, { force: true }); // each run starts with an empty book
/** All refunds that were made. */
export const readRefunds = () => {
  try {
    return readFileSync(book, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
};

function orderOf(id) {
  const order = orders.find((each) => each.id === id);
  // The model reads this message.
  if (!order) throw toolError("invalid_input", `There is no order ${id}`, { next: "Ask the customer for the number." });
  return order;
}

export const findOrder = createTool({
  name: "find_order",
  description: "Returns an order: its customer, item and total in euros.",
  kind: "readonly",
  inputSchema: z.object({ id: z.string().describe("The number of the order") }),
  execute: ({ id }) => orderOf(id),
});

export const refund = createTool({
  name: "refund",
  description: "Pays money back to the customer of an order.",
  kind: "write",
  needsApproval: false, // the rule in haft.config.yml decides which amounts need approval
  inputSchema: z.object({ order: z.string(), amount: z.number().positive().describe("In euros") }),
  // What the person who approves reads.
  preview: async ({ order, amount }) => ({
    title: `Pay ${amount} EUR back to ${orderOf(order).customer} for order ${order} (${orderOf(order).item})`,
    content: [],
  }),
  execute({ order, amount }) {
    if (amount > orderOf(order).total) throw toolError("invalid_input", `Order ${order} cost ${orderOf(order).total}`);
    if (readRefunds().some((made) => made.order === order)) throw toolError("failed", `${order} is already refunded`);
    appendFileSync(book, `${JSON.stringify({ order, amount })}\n`);
    return { order, refunded: amount };
  },
});
