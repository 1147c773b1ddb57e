import type { McpServer } from "@modelcontextprotocol/server";

export function createModernServer(): McpServer;
export const cancelled: { count: number };
