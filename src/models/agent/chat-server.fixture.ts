import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { ScriptedTurn } from "../../testing/scripted-model.ts";

/** A request to a server with the OpenAI chat protocol. */
export interface ChatRequest {
  model: string;
  stream?: boolean;
  messages: { role: string; content?: unknown; tool_calls?: unknown[]; tool_call_id?: string }[];
  tools?: { function: { name: string; parameters: unknown } }[];
  authorization: string | undefined;
}

export type ChatTurn = ScriptedTurn & { status?: number; hang?: boolean };

/** A server with the OpenAI chat protocol, streamed and not, with scripted replies. */
export async function startChatServer(
  script: readonly (ChatTurn | ((request: ChatRequest) => ChatTurn))[],
): Promise<{ url: string; requests: ChatRequest[] }> {
  const requests: ChatRequest[] = [];
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (chunk) => (body += chunk));
    incoming.on("end", () => {
      const { authorization } = incoming.headers;
      const request = { ...(JSON.parse(body) as Omit<ChatRequest, "authorization">), authorization };
      const next = script[requests.length] ?? { status: 400 };
      requests.push(request);
      const turn = typeof next === "function" ? next(request) : next;
      if (turn.hang) return;
      if (turn.status !== undefined) {
        response.writeHead(turn.status, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: "refused by the server", type: "test" } }));
        return;
      }
      const calls = (turn.calls ?? []).map(({ id, name, input = {} }, index) => ({
        index,
        id: id ?? `call_${requests.length}_${index}`,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      }));
      const finish = calls.length > 0 ? "tool_calls" : "stop";
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
      const head = { id: "chat1", created: 1, model: request.model };
      if (!request.stream) {
        const message = {
          role: "assistant",
          content: turn.text ?? null,
          tool_calls: calls.length > 0 ? calls : undefined,
        };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason: finish }], usage }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta: unknown, finish_reason: string | null = null, more = {}): void =>
        void response.write(
          `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`,
        );
      for (const word of turn.text?.match(/\S+\s*/g) ?? []) send({ role: "assistant", content: word });
      for (const {
        index,
        id,
        function: { name, arguments: all },
      } of calls) {
        send({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
        const half = Math.floor(all.length / 2);
        for (const piece of [all.slice(0, half), all.slice(half)])
          send({ tool_calls: [{ index, function: { arguments: piece } }] });
      }
      send({}, finish, { usage });
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}
