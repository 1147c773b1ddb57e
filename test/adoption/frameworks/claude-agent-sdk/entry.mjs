export { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
