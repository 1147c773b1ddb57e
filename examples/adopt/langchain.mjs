// A tool of LangChain in Haft: validated, limited and recorded.
import { tool } from "@langchain/core/tools";
import { createHaft } from "haft";
import { z } from "zod";

const schema = z.object({ city: z.string() });
const weather = tool(async ({ city }) => `rain in ${city}`, { name: "weather", description: "The weather", schema });
const haft = createHaft({ tools: [weather] });
console.log((await haft.execute("weather", { city: "Bonn" })).display); //> rain in Bonn
console.log((await haft.execute("weather", {})).error.code); //> invalid_input
