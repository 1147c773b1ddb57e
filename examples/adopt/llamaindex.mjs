// A tool of LlamaIndex in Haft. It cannot say that it only reads, so `adopt` is told.
import { tool } from "@llamaindex/core/tools";
import { adopt, createHaft } from "haft";
import { z } from "zod";

const parameters = z.object({ a: z.number(), b: z.number() });
const add = tool({ name: "add", description: "Adds", parameters, execute: ({ a, b }) => `${a + b}` });
const haft = createHaft({ tools: [adopt(add, { kind: "readonly" })] });
console.log((await haft.execute("add", { a: 1, b: 2 })).display); //> 3
console.log((await haft.execute("add", { a: 1 })).error.code); //> invalid_input
