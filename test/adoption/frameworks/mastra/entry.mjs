export { Agent } from "@mastra/core/agent";
export { Mastra } from "@mastra/core/mastra";
export { createTool } from "@mastra/core/tools";
export { LibSQLStore } from "@mastra/libsql";
