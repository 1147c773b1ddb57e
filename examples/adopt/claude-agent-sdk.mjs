// A tool of the Claude Agent SDK in Haft: its annotations become the kind, and a destructive one asks.
import { tool } from "@anthropic-ai/claude-agent-sdk";
import { createHaft } from "haft";
import { z } from "zod";

const answer = (text) => ({ content: [{ type: "text", text }] });
const read = tool("lookup", "Looks up", { id: z.string() }, async ({ id }) => answer(`order ${id}`), {
  annotations: { readOnlyHint: true },
});
const drop = tool("drop", "Deletes", { id: z.string() }, async () => answer("gone"), {
  annotations: { destructiveHint: true },
});
const haft = createHaft({ tools: [read, drop] });
console.log((await haft.execute("lookup", { id: "a1" })).display); //> order a1
console.log((await haft.execute("drop", { id: "a1" })).status); //> pending
