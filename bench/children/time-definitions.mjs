// Arguments: whose conversion, how many tools. Prints { first, later }: µs a tool, of distinct Zod schemas.
import process from "node:process";
import { z } from "zod";
import { importHaft, median, timed } from "../harness.mjs";
import { makeTools, toZod } from "../synthetic-tools.mjs";

const LATER = 9;
const [whose, countText] = process.argv.slice(2);
const specs = makeTools(Number(countText));
const schemas = specs.map(toZod);

// Each returns a function that gives the definitions of all tools. What a library prepares beforehand is not timed.
const converters = {
  async haft() {
    const { createHaft, createTool } = await importHaft();
    const haft = createHaft();
    const run = async () => "";
    specs.forEach(({ name, description }, i) => {
      haft.register(createTool({ name, description, parameters: schemas[i], kind: "readonly", run }));
    });
    return () => haft.tools.definitions();
  },
  async zod() {
    return () => schemas.map((schema) => z.toJSONSchema(schema, { io: "input" }));
  },
  async "ai-sdk"() {
    const { asSchema } = await import("ai");
    return async () => Promise.all(schemas.map(async (schema) => await asSchema(schema).jsonSchema));
  },
  async langchain() {
    const { tool } = await import("@langchain/core/tools");
    const { convertToOpenAITool } = await import("@langchain/core/utils/function_calling");
    const tools = specs.map(({ name, description }, i) =>
      tool(async () => "", { name, description, schema: schemas[i] }),
    );
    return () => tools.map((one) => convertToOpenAITool(one));
  },
};

const convert = await converters[whose]();
let given;
const convertAll = async () => {
  given = await convert();
};
const first = await timed(convertAll);
if (given.length !== specs.length) throw new Error(`Error: ${given.length} definitions of ${specs.length} tools`);
const later = [];
for (let i = 0; i < LATER; i++) later.push(await timed(convertAll));
const each = (ms) => (ms * 1000) / specs.length;
process.stdout.write(JSON.stringify({ first: each(first), later: each(median(later)) }), () => process.exit());
