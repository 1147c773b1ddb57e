// Compiled, never run: the frameworks accept the types of the adapters.
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import type { Tool as AgentsTool } from "@openai/agents-core";
import { type AnyTool as TanStackAnyTool, type ChatMiddleware } from "@tanstack/ai";
import type { ToolSet } from "ai";
import type { ToolSet as ToolSet6 } from "ai6";
import { fromAISDKTools, toAISDKTools } from "./ai-sdk.ts";
import { toLangChainTools } from "./langchain.ts";
import { toOpenAIAgentsTools } from "./openai-agents.ts";
import { toTanStackTools } from "./tanstack.ts";
import type { FrameworkTools } from "./toolkit-bridge.ts";

declare const toolkit: FrameworkTools;
declare const tools: ToolSet;
declare const tools6: ToolSet6;

toAISDKTools(toolkit) satisfies ToolSet;
toAISDKTools(toolkit) satisfies ToolSet6;
toLangChainTools(toolkit, { DynamicStructuredTool }) satisfies StructuredToolInterface[];
toOpenAIAgentsTools(toolkit) satisfies AgentsTool[];
toTanStackTools(toolkit) satisfies TanStackAnyTool[];
toTanStackTools(toolkit).middleware satisfies ChatMiddleware;
fromAISDKTools(tools);
fromAISDKTools(tools6);
