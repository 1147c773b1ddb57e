export { AIMessage } from "@langchain/core/messages";
export { DynamicStructuredTool } from "@langchain/core/tools";
export { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
export { ToolNode } from "@langchain/langgraph/prebuilt";
export { Agent, Runner } from "agents4";
export { generateText as generateText5 } from "ai5";
export { createTool } from "mastra0/tools";
export { chat } from "tanstack44";
