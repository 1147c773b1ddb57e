// The server side of a TanStack AI tool in Haft.
import { toolDefinition } from "@tanstack/ai";
import { createHaft } from "haft";
import { z } from "zod";

const inputSchema = z.object({ to: z.string() });
const definition = toolDefinition({ name: "send", description: "Sends a mail", inputSchema, needsApproval: true });
const haft = createHaft({ tools: [definition.server(async ({ to }) => `sent to ${to}`)] });
const { status, pending } = await haft.execute("send", { to: "ann" });
console.log(status); //> pending
console.log((await haft.approvals.approve(pending.id)).display); //> sent to ann
