// A plugin with two tools. `haft`, `haft serve`, `haft mcp` and `haft worker` have them because haft.config.yml names this file.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTool, toolError } from "haft";
import { z } from "zod";

// `context.workspace` is the folder that Haft works in.
const fileOf = ({ workspace }) => join(workspace, "tickets.json");
const readTickets = async (context) => JSON.parse(await readFile(fileOf(context), "utf8"));

const listTickets = createTool({
  name: "list_tickets",
  description: "Lists the tickets of this folder.",
  kind: "readonly", // runs without approval
  inputSchema: z.object({ state: z.enum(["open", "closed"]).default("open").describe("Which tickets") }),
  execute: async ({ state }, context) => (await readTickets(context)).filter((ticket) => ticket.state === state),
});

const closeTicket = createTool({
  name: "close_ticket",
  description: "Closes a ticket.",
  kind: "write",
  needsApproval: true, // a rule in a configuration can change that
  inputSchema: z.object({ id: z.number().int().describe("The number of the ticket") }),
  locks: () => ["tickets.json"], // two calls never write the file at the same time
  async execute({ id }, context) {
    const tickets = await readTickets(context);
    const ticket = tickets.find((each) => each.id === id);
    if (!ticket) throw toolError("invalid_input", `There is no ticket ${id}`, { next: "Call list_tickets." });
    ticket.state = "closed";
    await writeFile(fileOf(context), `${JSON.stringify(tickets, null, 2)}\n`);
    return `Closed ticket ${id}: ${ticket.title}`;
  },
});

/** @type {import("haft").Plugin} */
export default {
  manifest: { id: "tickets", version: "1.0.0", tools: ["list_tickets", "close_ticket"] },
  register(api) {
    api.registerTool(listTickets);
    api.registerTool(closeTicket);
  },
};
