// A definition of an MCP server and a function that calls it. What a server says of itself is not believed: the call asks.
import { adopt, createHaft } from "haft";

const inputSchema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };
const definition = { name: "send", description: "Sends a mail", inputSchema, annotations: { readOnlyHint: true } };
const call = async (name, { to }) => ({ content: [{ type: "text", text: `${name}: ${to}` }] });
const haft = createHaft({ tools: [adopt(definition, { call })] });
const { status, pending } = await haft.execute("send", { to: "ann" });
console.log(status); //> pending
console.log((await haft.approvals.approve(pending.id)).display); //> send: ann
