import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { toClaudeAgentTools } from "../../src/models/frameworks/claude-agent-sdk.ts";
import type { ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Rig, Turn } from "./framework.suite.ts";
import { importFramework } from "./on-demand.ts";
import type { World } from "./world.ts";

/** The parts of the SDK that are used here: the package is not installed when the types are checked. */
export interface ClaudeExports {
  createSdkMcpServer: (options: object) => object;
  query(given: { prompt: string; options: object }): AsyncIterable<Message>;
}

interface Message {
  type: string;
  result?: string;
  message?: { content: Block[] | string };
}

interface Block {
  type: string;
  tool_use_id: string;
  is_error?: boolean;
  content: { text?: string }[] | string;
}

interface Asked {
  toolUseID: string;
  approvalId: string;
  signal: AbortSignal;
}

type Permission = { behavior: "allow" } | { behavior: "deny"; message: string };

/** A run: it goes on in the SDK's process, and is read from question to question. */
interface Running {
  turn: Turn;
  answer?: (permission: Permission) => void;
  /** Resolves at the next question, or at the end. */
  next: Promise<Turn>;
}

const SERVER = "haft";

export async function openRig({ folder, toolkit }: World): Promise<Rig> {
  const { createSdkMcpServer, query } = await importFramework<ClaudeExports>("claude-agent-sdk");
  const model = await serveModel();
  const runs = new Map<string, Running>();

  function start(calls: readonly ScriptedCall[], run: string, signal?: AbortSignal): Promise<Turn> {
    model.calls = calls;
    const abortController = new AbortController();
    signal?.addEventListener("abort", () => abortController.abort());
    const running: Running = { turn: { run, asked: [], results: [], updates: [] }, next: Promise.resolve({} as Turn) };
    runs.set(run, running);
    let stopHere!: (turn: Turn) => void;
    const pause = (): void => void (running.next = new Promise((resolve) => (stopHere = resolve)));
    pause();
    const { next } = running;
    const askPerson = (name: string, _input: unknown, { toolUseID, approvalId, signal: closed }: Asked) => {
      const asked = [{ approvalId, callId: toolUseID, toolName: name.replace(`mcp__${SERVER}__`, "") }];
      return new Promise<Permission | null>((resolve) => {
        running.answer = resolve;
        closed.addEventListener("abort", () => resolve(null));
        const reached = stopHere;
        pause();
        reached({ ...running.turn, asked });
      });
    };
    const tools = toClaudeAgentTools(toolkit, { createSdkMcpServer, canUseTool: askPerson });
    const options = {
      ...tools,
      abortController,
      env: offline(folder, model.url),
      cwd: folder,
      model: "scripted",
      tools: [],
    };
    void (async () => {
      try {
        for await (const message of query({ prompt: "go", options: { ...options, settingSources: [] } })) {
          if (message.type === "result") running.turn.text = message.result;
          if (message.type === "user") running.turn.results.push(...resultsOf(message));
        }
      } catch {
        // Aborted: the test looks at the record of the call.
      }
      stopHere(running.turn);
    })();
    return next;
  }

  return {
    start: (calls, { run = randomUUID(), signal } = {}) => start(calls, run, signal),
    answer({ run }, approved) {
      const { next, answer } = runs.get(run)!;
      answer!(approved ? { behavior: "allow" } : { behavior: "deny", message: "no" });
      return next;
    },
    // The run waits for Haft too.
    resume: ({ run }) => runs.get(run)!.next,
    close: () => model.close(),
  };
}

function resultsOf({ message }: Message): Turn["results"] {
  const blocks = typeof message?.content === "object" ? message.content : [];
  return blocks
    .filter(({ type }) => type === "tool_result")
    .map(({ tool_use_id: callId, content, is_error: isError = false }) => ({
      callId,
      text: typeof content === "string" ? content : content.map(({ text }) => text).join("\n"),
      isError,
    }));
}

/** The SDK starts a program that would otherwise report and update over the network. */
export function offline(folder: string, url: string): Record<string, string | undefined> {
  return {
    PATH: process.env["PATH"],
    HOME: join(folder, "home"),
    CLAUDE_CONFIG_DIR: join(folder, "home"),
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: url,
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    HTTPS_PROXY: "http://127.0.0.1:9",
    NO_PROXY: "127.0.0.1",
  };
}

interface ScriptedEndpoint {
  url: string;
  calls: readonly ScriptedCall[];
  /** What the model was given last. */
  lastRequest?: unknown;
  close(): Promise<void>;
}

/** Speaks the Messages API: makes the calls, and says "done" when it has their results. */
export async function serveModel(): Promise<ScriptedEndpoint> {
  const endpoint: ScriptedEndpoint = { url: "", calls: [], close: async () => void server.close() };
  const server = createServer((request, response) => {
    void answerRequest(request, response, endpoint);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return endpoint;
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  endpoint: ScriptedEndpoint,
): Promise<void> {
  let body = "";
  for await (const part of request) body += String(part);
  if (request.method !== "POST" || !request.url?.startsWith("/v1/messages?")) return void response.writeHead(404).end();
  const { messages } = JSON.parse(body) as { messages: { content: Block[] | string }[] };
  endpoint.lastRequest = messages;
  const last = messages.at(-1)?.content;
  const hasResults = typeof last === "object" && last.some(({ type }) => type === "tool_result");
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of eventsOf(hasResults ? [] : endpoint.calls)) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

function eventsOf(calls: readonly ScriptedCall[]): { type: string }[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: `msg_${randomUUID()}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content: [],
    usage,
  };
  const blocks =
    calls.length === 0
      ? [{ start: { type: "text", text: "" }, delta: { type: "text_delta", text: "done" } }]
      : calls.map(({ id, name, input }) => ({
          start: { type: "tool_use", id, name: `mcp__${SERVER}__${name}`, input: {} },
          delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
        }));
  const stop = calls.length === 0 ? "end_turn" : "tool_use";
  return [
    { type: "message_start", message },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: "content_block_start", index, content_block: start },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: "message_stop" },
  ] as { type: string }[];
}
