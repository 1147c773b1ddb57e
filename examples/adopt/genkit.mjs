// A tool of Genkit in Haft. It cannot say that it only reads, so `adopt` is told.
import { defineTool } from "@genkit-ai/ai/tool";
import { initNodeFeatures } from "@genkit-ai/core/node";
import { Registry } from "@genkit-ai/core/registry";
import { adopt, createHaft } from "haft";
import { z } from "zod";

initNodeFeatures();
const inputSchema = z.object({ city: z.string() });
const weather = defineTool(
  new Registry(),
  { name: "weather", description: "The weather", inputSchema },
  async ({ city }) => `rain in ${city}`,
);
const haft = createHaft({ tools: [adopt(weather, { kind: "readonly" })] });
console.log((await haft.execute("weather", { city: "Bonn" })).display); //> rain in Bonn
console.log((await haft.execute("weather", {})).error.code); //> invalid_input
