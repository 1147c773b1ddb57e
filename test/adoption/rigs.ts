import type { OpenRig } from "./framework.suite.ts";

/** The rig of each framework, loaded when it is needed. */
export const RIGS = {
  "ai-sdk": () => import("./ai-sdk.rig.ts"),
  "openai-agents": () => import("./openai-agents.rig.ts"),
  tanstack: () => import("./tanstack.rig.ts"),
  langchain: () => import("./langchain.rig.ts"),
  mastra: () => import("./mastra.rig.ts"),
  "claude-agent-sdk": () => import("./claude-agent-sdk.rig.ts"),
} satisfies Record<string, () => Promise<{ openRig: OpenRig }>>;
