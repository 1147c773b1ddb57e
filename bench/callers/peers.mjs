/** Who else offers to call a tool, by the file that does it. The AI SDK has no call of its own outside its loop. */
export const PEERS = {
  mastra: "Mastra createTool().execute",
  "openai-agents": "OpenAI Agents tool().invoke",
  "openai-agents-timeout": "OpenAI Agents, with a timeout",
  langchain: "LangChain tool().invoke",
  "mcp-in-memory": "MCP v2, client and server in memory",
};
