import { initNodeFeatures } from "@genkit-ai/core/node";

// As the package "genkit" does, which is much larger.
initNodeFeatures();

export { tool } from "@genkit-ai/ai/tool";
export { z } from "@genkit-ai/core";
