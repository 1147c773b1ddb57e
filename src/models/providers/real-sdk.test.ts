// The SDKs of the providers, whole and streaming, against a server with their wire format.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { createTestHaft } from "../../testing/test-haft.ts";
import { anthropicFormat } from "./anthropic.ts";
import { openaiFormat } from "./openai-chat.ts";
import { openaiResponsesFormat } from "./openai-responses.ts";

interface Request {
  path: string;
  body: Record<string, unknown>;
}

/** Responds to each request with the next of `replies`: an object as JSON, a list as a stream of events. */
async function serve(replies: readonly (object | readonly object[])[]): Promise<{ url: string; requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", body: JSON.parse(text) as Record<string, unknown> });
      const reply = replies[requests.length - 1]!;
      if (!Array.isArray(reply))
        return response.setHeader("content-type", "application/json").end(JSON.stringify(reply));
      response.setHeader("content-type", "text/event-stream");
      for (const event of reply as { type?: string }[]) {
        response.write(`${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
      }
      return response.end(reply.some((event) => "object" in (event as object)) ? "data: [DONE]\n\n" : "");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function createWeather() {
  return createTestHaft({
    tools: [
      {
        name: "weather.now",
        description: "Tells the weather",
        kind: "readonly",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        run: (input: unknown) => `Sunny in ${(input as { city: string }).city}`,
      },
    ] as never,
  });
}

const NAME = "weather_now";

test("OpenAI's SDK: chat completions, whole and streamed", async () => {
  const haft = createWeather();
  const base = { id: "x", created: 0, model: "m" };
  const call = { id: "call_1", type: "function", function: { name: NAME, arguments: '{"city": "Rome",}' } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  const delta = (part: object) => ({
    ...base,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: part, finish_reason: null }],
  });
  const { url, requests } = await serve([
    { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }] },
    [
      delta({ tool_calls: [{ index: 0, id: "call_2", type: "function", function: { name: NAME, arguments: "" } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
    ],
    {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "done" }, finish_reason: "stop" }],
    },
  ]);
  const client = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
  const out = openaiFormat.toTools(haft.tools.list());
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Weather?" }];

  const first = (await client.chat.completions.create({ model: "m", messages, tools: out.tools })).choices[0]!.message;
  const calls = openaiFormat.readCalls(first, out);
  expect(calls).toMatchObject([{ id: "call_1", name: "weather.now", input: { city: "Rome" } }]);
  expect(calls[0]!.repairs).toEqual(["a trailing comma was removed from the JSON"]);
  messages.push(first, ...openaiFormat.toMessages(calls, await haft.executeMany(calls)));

  const reader = openaiFormat.createReader(out);
  for await (const chunk of await client.chat.completions.create({
    model: "m",
    messages,
    tools: out.tools,
    stream: true,
  })) {
    reader.push(chunk);
  }
  expect(reader.calls()).toMatchObject([{ id: "call_2", name: "weather.now", input: { city: "Oslo" } }]);
  messages.push(...openaiFormat.toMessages(reader.calls(), await haft.executeMany(reader.calls())));
  await client.chat.completions.create({ model: "m", messages });

  expect(requests[0]!.body).toMatchObject({
    tools: [{ type: "function", function: { name: NAME, parameters: { required: ["city"] } } }],
  });
  expect(requests[2]!.body["messages"]).toMatchObject([
    { role: "user" },
    { role: "assistant" },
    { role: "tool", tool_call_id: "call_1", content: "Sunny in Rome" },
    { role: "tool", tool_call_id: "call_2", content: "Sunny in Oslo" },
  ]);
});

test("OpenAI's SDK: responses, whole and streamed", async () => {
  const haft = createWeather();
  const item = (id: string, city: string) => ({
    type: "function_call",
    id: `fc_${id}`,
    call_id: id,
    name: NAME,
    arguments: `{"city":"${city}"}`,
  });
  const response = (output: object[]) => ({ id: "r", object: "response", created_at: 0, status: "completed", output });
  const { url, requests } = await serve([
    response([{ type: "reasoning", id: "rs", summary: [] }, item("c1", "Rome")]),
    [
      {
        type: "response.output_item.added",
        output_index: 0,
        sequence_number: 1,
        item: { ...item("c2", ""), arguments: "" },
      },
      {
        type: "response.function_call_arguments.delta",
        output_index: 0,
        item_id: "fc_c2",
        sequence_number: 2,
        delta: '{"city":"Os',
      },
      {
        type: "response.function_call_arguments.delta",
        output_index: 0,
        item_id: "fc_c2",
        sequence_number: 3,
        delta: 'lo"}',
      },
      { type: "response.output_item.done", output_index: 0, sequence_number: 4, item: item("c2", "Oslo") },
    ],
    response([]),
  ]);
  const client = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
  const out = openaiResponsesFormat.toTools(haft.tools.list(), { strict: true });
  const first = await client.responses.create({ model: "m", input: "Weather?", tools: out.tools });
  const calls = openaiResponsesFormat.readCalls(first, out);
  const answers = openaiResponsesFormat.toMessages(calls, await haft.executeMany(calls));

  const reader = openaiResponsesFormat.createReader(out);
  for await (const event of await client.responses.create({
    model: "m",
    input: answers,
    tools: out.tools,
    stream: true,
  })) {
    reader.push(event);
  }
  const more = openaiResponsesFormat.toMessages(reader.calls(), await haft.executeMany(reader.calls()));
  await client.responses.create({ model: "m", input: more });

  expect(requests[0]!.body["tools"]).toMatchObject([
    { name: NAME, strict: true, parameters: { additionalProperties: false } },
  ]);
  expect(requests[1]!.body["input"]).toEqual([
    { type: "function_call_output", call_id: "c1", output: "Sunny in Rome" },
  ]);
  expect(requests[2]!.body["input"]).toEqual([
    { type: "function_call_output", call_id: "c2", output: "Sunny in Oslo" },
  ]);
});

test("Anthropic's SDK: messages, whole and streamed", async () => {
  const haft = createWeather();
  const base = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const use = (id: string, input: object) => ({ type: "tool_use", id, name: NAME, input });
  const { url, requests } = await serve([
    {
      ...base,
      stop_reason: "tool_use",
      content: [{ type: "text", text: "Let me look." }, use("t1", { city: "Rome" }), use("t2", { town: "?" })],
    },
    [
      { type: "message_start", message: { ...base, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: use("t3", {}) },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city": "Os' } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: 'lo"}' } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ],
    { ...base, stop_reason: "end_turn", content: [{ type: "text", text: "done" }] },
  ]);
  const client = new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
  const out = anthropicFormat.toTools(haft.tools.list());
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Weather?" }];
  const ask = { model: "m", max_tokens: 100, tools: out.tools };

  const first = await client.messages.create({ ...ask, messages });
  const calls = anthropicFormat.readCalls(first, out);
  expect(calls.map(({ name }) => name)).toEqual(["weather.now", "weather.now"]);
  messages.push(
    { role: "assistant", content: first.content },
    ...anthropicFormat.toMessages(calls, await haft.executeMany(calls)),
  );

  const reader = anthropicFormat.createReader(out);
  for await (const event of await client.messages.create({ ...ask, messages, stream: true })) reader.push(event);
  expect(reader.calls()).toMatchObject([{ id: "t3", name: "weather.now", input: { city: "Oslo" } }]);
  messages.push(...anthropicFormat.toMessages(reader.calls(), []));
  await client.messages.create({ ...ask, messages });

  expect(requests[0]!.body["tools"]).toMatchObject([
    { name: NAME, input_schema: { type: "object", required: ["city"] } },
  ]);
  expect((requests[2]!.body["messages"] as object[]).slice(2)).toMatchObject([
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "Sunny in Rome" }] },
        { type: "tool_result", tool_use_id: "t2", is_error: true },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t3", is_error: true }] },
  ]);
});
