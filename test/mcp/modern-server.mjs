// A server with the official SDK for both eras: over stdio if it is started, over HTTP if it is imported.
import process from "node:process";
import { fileURLToPath } from "node:url";
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

export function createModernServer() {
  const server = new McpServer(
    { name: "modern", version: "3.0.0" },
    { capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} }, instructions: "Use it well." },
  );
  const text = (value) => ({ content: [{ type: "text", text: value }] });
  server.registerTool(
    "add",
    { description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => text(String(a + b)),
  );
  server.registerTool(
    "weather",
    {
      description: "Weather",
      inputSchema: z.object({ bad: z.boolean().optional() }),
      outputSchema: z.object({ degrees: z.number() }),
    },
    ({ bad }) => ({
      content: [{ type: "text", text: "21" }],
      structuredContent: { degrees: bad ? 21 : 21 },
    }),
  );
  server.registerTool("delete_all", { description: "Asks first", inputSchema: z.object({}) }, async (_args, ctx) => {
    const schema = z.object({ confirm: z.boolean() });
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "confirm", schema);
    if (!answer) {
      return inputRequired({
        inputRequests: { confirm: inputRequired.elicit({ message: "Really\u200b?", requestedSchema: schema }) },
      });
    }
    return text(answer.confirm ? "deleted" : "kept");
  });
  server.registerTool("fails", { description: "Fails", inputSchema: z.object({}) }, () => ({
    ...text("no such account"),
    isError: true,
  }));
  server.registerTool("steps", { description: "Tells of progress", inputSchema: z.object({}) }, async (_args, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [1, 2]) {
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: 2, message: `step ${progress}` },
      });
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return text("done");
  });
  server.registerTool(
    "meta",
    { description: "Gives back what came with the call", inputSchema: z.object({}) },
    (_args, ctx) => text(JSON.stringify(ctx.mcpReq._meta ?? {})),
  );
  server.registerTool(
    "wait",
    { description: "Waits until it is cancelled", inputSchema: z.object({}) },
    (_args, ctx) =>
      new Promise((resolve) => {
        ctx.mcpReq.signal.addEventListener("abort", () => {
          cancelled.count++;
          resolve(text("cancelled"));
        });
      }),
  );
  server.registerTool("everything", { description: "All kinds of content", inputSchema: z.object({}) }, () => ({
    content: [
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
      { type: "resource_link", uri: "note://1", name: "A note", mimeType: "text/plain" },
      { type: "resource", resource: { uri: "note://2", text: "inside", mimeType: "text/plain" } },
    ],
  }));
  server.registerResource("note", "note://1", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "a note" }],
  }));
  server.registerPrompt("greet", { description: "Greets", argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Hello ${name}` } }],
  }));
  return server;
}

export const cancelled = { count: 0 };

if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(() => createModernServer());
