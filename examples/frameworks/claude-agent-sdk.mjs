// The Claude Agent SDK asks about a call with canUseTool. The tools are an MCP server in this process.
import { createSdkMcpServer, query } from "@anthropic-ai/claude-agent-sdk";
import { toClaudeAgentTools } from "haft/formats";
import { pay } from "./pay.mjs";

const tools = toClaudeAgentTools(
  { pay },
  {
    createSdkMcpServer,
    // Ask your user here. Without canUseTool the run waits for an answer in Haft.
    async canUseTool(name, input) {
      console.log(name, input.amount); //> mcp__haft__pay 50
      return { behavior: "allow" }; //> paid 50
    },
  },
);

for await (const message of query({ prompt: "Pay the bill.", options: { ...tools, settingSources: [] } })) {
  if (message.type === "result") console.log(message.result); //> done
}
