// A tool of the OpenAI Agents SDK in Haft: its needsApproval asks.
import { tool } from "@openai/agents-core";
import { adopt, createHaft } from "haft";
import { z } from "zod";

const parameters = z.object({ id: z.string() });
const find = tool({ name: "find", description: "Finds", parameters, execute: ({ id }) => `found ${id}` });
const remove = tool({ name: "remove", description: "Removes", parameters, needsApproval: true, execute: () => "gone" });
const haft = createHaft({ tools: [adopt(find, { kind: "readonly" }), remove] });
console.log((await haft.execute("find", { id: "a1" })).display); //> found a1
console.log((await haft.execute("remove", { id: "a1" })).status); //> pending
