// A server that the case talks to over real connections: `haft`, or `bare`, a Hono route that does the same JSON work.
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, importHaft } from "../harness.mjs";

const fromDist = (file) => import(pathToFileURL(join(DIST, file)).href);
const { port, token, streams } = process.argv[2] === "haft" ? await serveHaft() : await serveBare();

process.on("message", (requested) => {
  if (requested === "usage") {
    globalThis.gc?.();
    process.send({ cpu: process.cpuUsage(), heap: process.memoryUsage().heapUsed, streams: streams() });
  }
  if (requested === "end") process.exit(0);
});
process.send({ port, token });

async function serveHaft() {
  const [{ createHaft }, { serveHttp }] = await Promise.all([importHaft(), fromDist("server.js")]);
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  const haft = createHaft({
    tools: [
      { name: "echo", description: "Says it again", kind: "readonly", parameters: text, run: (input) => input.text },
      {
        name: "turn",
        description: "Waits for a turn of the event loop",
        kind: "readonly",
        parameters: text,
        run: (input) => new Promise((resolve) => setImmediate(() => resolve(input.text))),
      },
    ],
  });
  const server = await serveHttp(haft, { port: 0 });
  const token = await server.issueToken({ name: "bench", scopes: ["read", "call"] });
  return { port: server.port, token, streams: () => server.openStreams };
}

async function serveBare() {
  const { Hono } = await import("hono");
  const { serve } = await import("@hono/node-server");
  const app = new Hono();
  let calls = 0;
  app.post("/api/calls", async (context) => {
    const { tool, input } = await context.req.json();
    const startedAt = Date.now();
    const { text } = input;
    return context.json({
      callId: `call_${(calls++).toString(36)}`,
      toolName: tool,
      status: "completed",
      success: true,
      content: [{ type: "text", text }],
      display: text,
      details: text,
      metadata: {},
      startedAt,
      completedAt: Date.now(),
      durationMs: 0,
    });
  });
  const port = await new Promise((resolve) =>
    serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, (info) => resolve(info.port)),
  );
  return { port, token: "none", streams: () => 0 };
}
