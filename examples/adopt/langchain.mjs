// A tool of LangChain in Haft: validated, limited and recorded. It cannot say that it only reads, so `adopt` is told.
import { tool } from "@langchain/core/tools";
import { adopt, createHaft } from "haft";
import { z } from "zod";

const schema = z.object({ city: z.string() });
const weather = tool(async ({ city }) => `rain in ${city}`, { name: "weather", description: "The weather", schema });
const haft = createHaft({ tools: [adopt(weather, { kind: "readonly" })] });
console.log((await haft.execute("weather", { city: "Bonn" })).display); //> rain in Bonn
console.log((await haft.execute("weather", {})).error.code); //> invalid_input
