// The server that the conformance suite talks to: Haft's own endpoint and gate, with the tools, resources and prompts
// whose names and answers the suite prescribes.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { InputRequests } from "@modelcontextprotocol/server";
import { createHaft, createTool, type ToolContext } from "../src/index.ts";
import { createMcpEndpoint } from "../src/mcp/server/streamable-http.ts";
import type { McpIdentity, McpPrompt, McpResourceSource } from "../src/mcp/server/server-options.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const ANYBODY: McpIdentity = { id: "anybody", name: "anybody", rights: ["read", "call", "approve"] };

/** What clients were asked before their call became a task, by its id. */
const names = new Map<string, string>();
const haft = createHaft({
  // Asks before the call is queued: the tool itself runs later.
  middleware: [
    {
      name: "ask-first",
      after: "permit",
      async enter(call) {
        if (call.tool?.name !== "test_tool_with_task" || call.secondPass) return undefined;
        const { user_name: user } = (await endpoint.clientOf(call.id)!.ask(NAME)) as Named;
        names.set(call.id, user.content?.name ?? "");
        return undefined;
      },
    },
  ],
});
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const text = (value: string) => ({ type: "text" as const, text: value });

function add(
  name: string,
  run: (input: never, context: ToolContext) => unknown,
  parameters: object = {},
  more: object = {},
): void {
  haft.register(
    createTool({
      name,
      description: `What the conformance suite knows as ${name}`,
      kind: "readonly",
      parameters: { type: "object", properties: {}, ...parameters },
      run: run as never,
      ...more,
    }),
  );
}

const one = (name: string) => ({ properties: { [name]: { type: "string" } }, required: [name] });

/** A tool that asks the client that called it. */
function ask({ callId }: ToolContext, requests: InputRequests): Promise<Readonly<Record<string, unknown>>> {
  const client = endpoint.clientOf(callId);
  if (!client) throw new Error("This call came from no client.");
  return client.ask(requests);
}

type Form = { properties: Record<string, object>; required?: string[] };
const form = (message: string, { properties, required }: Form) => ({
  method: "elicitation/create" as const,
  params: {
    message,
    requestedSchema: { type: "object" as const, properties, ...(required ? { required } : {}) } as never,
  },
});
const aText = (name: string): Form => ({ properties: { [name]: { type: "string" } }, required: [name] });
const sample = (question: string, maxTokens: number) => ({
  method: "sampling/createMessage" as const,
  params: { messages: [{ role: "user" as const, content: text(question) }], maxTokens },
});
const ROOTS = { method: "roots/list" as const, params: {} };

add("test_simple_text", () => "This is a simple text response for testing.");
add("test_image_content", () => ({ content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }));
add("test_audio_content", () => ({ content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }] }));
add("test_embedded_resource", () => ({
  content: [
    {
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    },
  ],
}));
add("test_multiple_content_types", () => ({
  content: [
    text("Multiple content types test:"),
    { type: "image", data: PIXEL, mimeType: "image/png" },
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    },
  ],
}));
add("test_error_handling", () => {
  throw new Error("This tool intentionally returns an error for testing");
});
add("test_tool_with_progress", async (_input, context) => {
  for (const done of [0, 50, 100]) {
    context.update({ progress: { done, total: 100 } });
    await sleep(50);
  }
  return "Progress was told.";
});
for (const name of ["test_tool_with_logging", "test_logging_tool"]) {
  add(name, async (_input, { callId }) => {
    for (const message of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await endpoint.clientOf(callId)?.log("info", message);
      await sleep(50);
    }
    return "Three things were logged.";
  });
}
add(
  "test_sampling",
  async ({ prompt }: { prompt: string }, context) => {
    const { answer } = await ask(context, { answer: sample(prompt, 100) });
    return `LLM response: ${JSON.stringify((answer as { content: unknown }).content)}`;
  },
  one("prompt"),
);
add(
  "test_elicitation",
  async ({ message }: { message: string }, context) => {
    const properties = {
      username: { type: "string", description: "User's response" },
      email: { type: "string", description: "User's email address" },
    };
    const { user } = await ask(context, { user: form(message, { properties, required: ["username", "email"] }) });
    return `User response: ${JSON.stringify(user)}`;
  },
  one("message"),
);
add("test_elicitation_sep1034_defaults", async (_input, context) => {
  const properties = {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  };
  return completed(await ask(context, { user: form("Please check these", { properties }) }));
});
add("test_elicitation_sep1330_enums", async (_input, context) => {
  const titled = (word: string) =>
    ["First", "Second", "Third"].map((title, at) => ({ const: `value${at + 1}`, title: `${title} ${word}` }));
  const properties = {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled("Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
  };
  return completed(await ask(context, { user: form("Please choose", { properties }) }));
});

function completed({ user }: Readonly<Record<string, unknown>>): string {
  const { action, content } = user as { action: string; content?: unknown };
  return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
}

// Several rounds, as the revision of 2026 has them.
interface Named {
  user_name: { content?: { name?: string } };
}
const NAME = { user_name: form("What is your name?", aText("name")) };
for (const name of ["test_input_required_result_elicitation", "test_streaming_elicitation"]) {
  add(name, async (_input, context) => {
    const { user_name: user } = (await ask(context, NAME)) as Named;
    return `Hello, ${user.content?.name}!`;
  });
}
add("test_input_required_result_sampling", async (_input, context) => {
  const answers = await ask(context, { capital_question: sample("What is the capital of France?", 100) });
  return JSON.stringify(answers["capital_question"]);
});
add("test_missing_capability", async (_input, context) => {
  await ask(context, { anything: sample("What is missing?", 10) });
  return "Nothing is missing.";
});
add("test_input_required_result_list_roots", async (_input, context) =>
  JSON.stringify(await ask(context, { client_roots: ROOTS })),
);
for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
  add(name, async (_input, context) => {
    const ok = { properties: { ok: { type: "boolean" } }, required: ["ok"] };
    await ask(context, { confirm: form("Please confirm", ok) });
    return "state-ok";
  });
}
add("test_input_required_result_multiple_inputs", async (_input, context) =>
  JSON.stringify(await ask(context, { ...NAME, greeting: sample("Generate a greeting", 50), client_roots: ROOTS })),
);
add("test_input_required_result_multi_round", async (_input, context) => {
  await ask(context, { step1: form("Step 1: What is your name?", aText("name")) });
  await ask(context, { step2: form("Step 2: What is your favorite color?", aText("color")) });
  return "Both steps were answered.";
});
add("test_input_required_result_capabilities", async (_input, context) => {
  const { sampling, elicitation } = endpoint.clientOf(context.callId)!.capabilities;
  const requests: InputRequests = {
    ...(sampling ? { thought: sample("What do you think?", 10) } : {}),
    ...(elicitation ? NAME : {}),
  };
  return JSON.stringify(await ask(context, requests));
});

// Background tools, which clients that know the extension get as tasks.
const later = (name: string, run: (input: never, context: ToolContext) => unknown, parameters: object = {}): void =>
  add(name, run, parameters, { mode: "background", limits: { timeoutMs: 120_000 } });
const CONFIRM = { properties: { confirm: { type: "boolean" } }, required: ["confirm"] };
add("greet", ({ name }: { name: string }) => `Hello, ${name}!`, one("name"));
later(
  "slow_compute",
  async ({ seconds, label }: { seconds: number; label: string }) => {
    await sleep(seconds * 1000);
    return `${label} took ${seconds} s.`;
  },
  { properties: { seconds: { type: "number" }, label: { type: "string" } }, required: ["seconds"] },
);
later("failing_job", async () => {
  await sleep(1000);
  throw new Error("This job fails.");
});
// The suite's client has no roots: to ask for them is an error of the protocol.
later("protocol_error_job", (_input, context) => ask(context, { roots: ROOTS }));
later(
  "confirm_delete",
  async ({ filename }: { filename: string }, context) => {
    const { confirm } = await ask(context, { confirm: form(`Delete ${filename}?`, CONFIRM) });
    return JSON.stringify(confirm);
  },
  one("filename"),
);
later("multi_input", async (_input, context) =>
  JSON.stringify(await ask(context, { first: form("First?", aText("name")), second: form("Second?", aText("name")) })),
);
later("test_tool_with_task", (_input, { callId }) => `Hello, ${names.get(callId)}!`);

const WHOLE_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
add("json_schema_2020_12_tool", () => "It fits.", WHOLE_SCHEMA);

let changes = 0;
add("test_trigger_tool_change", () => {
  add(`test_added_${++changes}`, () => "I was added.");
  return "A tool was added.";
});

const promptListeners = new Set<() => void>();
add("test_trigger_prompt_change", () => {
  prompts.push({ name: `test_added_${++changes}`, description: "Added", get: () => message("I was added.") });
  for (const notify of promptListeners) notify();
  return "A prompt was added.";
});

const message = (...all: (string | object)[]) => ({
  messages: all.map((each) => ({
    role: "user" as const,
    content: (typeof each === "string" ? text(each) : each) as ReturnType<typeof text>,
  })),
});
const prompts: McpPrompt[] = [
  { name: "test_simple_prompt", description: "A prompt", get: () => message("This is a simple prompt for testing.") },
  {
    name: "test_prompt_with_arguments",
    description: "A prompt with arguments",
    arguments: [
      { name: "arg1", description: "First test argument", required: true, values: ["paris", "park", "party"] },
      { name: "arg2", description: "Second test argument", required: true },
    ],
    get: ({ arg1, arg2 }) => message(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A prompt with a resource",
    arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
    get: ({ resourceUri }) =>
      message(
        {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        },
        "Please process the embedded resource above.",
      ),
  },
  {
    name: "test_prompt_with_image",
    description: "A prompt with an image",
    get: () => message({ type: "image", data: PIXEL, mimeType: "image/png" }, "Please analyze the image above."),
  },
  {
    name: "test_input_required_result_prompt",
    description: "A prompt that asks",
    async get(_args, client) {
      const requested = { user_context: form("What context should the prompt use?", aText("context")) };
      return message(`The context is ${JSON.stringify(await client.ask(requested))}`);
    },
  },
];

const describe = (uri: string, name: string, mimeType: string) => ({ uri, name, description: `The ${name}`, mimeType });
const resources: McpResourceSource = {
  list: () => [
    describe("test://static-text", "static text", "text/plain"),
    describe("test://static-binary", "static image", "image/png"),
    describe("test://watched-resource", "watched resource", "text/plain"),
  ],
  templates: [
    {
      uriTemplate: "test://template/{id}/data",
      name: "data",
      description: "Data of an id",
      mimeType: "application/json",
    },
  ],
  read(uri) {
    if (uri === "test://static-text") {
      return { mimeType: "text/plain", text: "This is the content of the static text resource." };
    }
    if (uri === "test://static-binary") return { mimeType: "image/png", blob: PIXEL };
    if (uri === "test://watched-resource") return { mimeType: "text/plain", text: "Watched." };
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id === undefined) return undefined;
    return {
      mimeType: "application/json",
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    };
  },
};

const endpoint = await createMcpEndpoint(haft, {
  describe: () => [],
  identify: () => ANYBODY,
  // The suite wants to see schemas as they are; clients of people get them flat and without references.
  portable: (schema) => ({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }),
  needsTask: ({ name }) => name === "failing_job" || name === "test_tool_with_task",
  resources: [resources],
  prompts: {
    list: () => prompts,
    onChanged: (listener) => (promptListeners.add(listener), () => promptListeners.delete(listener)),
  },
});
const server = createServer((incoming, outgoing) => void endpoint.handle(incoming, outgoing));
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`),
);
