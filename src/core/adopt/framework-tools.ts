// Tools of other frameworks. Each has a mark, so no package is loaded to recognise it.
import type { SchemaSource } from "../../schema/infer.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import type { Schema } from "../../schema/schema.ts";
import { toSchema } from "../../schema/json-schema-validator.ts";
import { type Content, text } from "../content.ts";
import { errorMessage, toolError } from "../error.ts";
import { type ModelOutput, type ToolContext, ToolPermission } from "../tool.ts";
import {
  type AdoptedConfig,
  type AdoptOptions,
  approvalIfStated,
  approvalOf,
  checkForeignKeys,
  commonFields,
  type Convention,
  type Fields,
  isFunction,
  kindOf,
  lastOf,
  methodOf,
  rawInput,
  report,
  shapeSchema,
  strictest,
  textField,
} from "./convention.ts";
import { isNamelessTool } from "./plain-tools.ts";

const AI_SDK_KEYS = [
  ...["name", "id", "type", "title", "description", "inputSchema", "outputSchema", "contextSchema", "needsApproval"],
  ...["execute", "toModelOutput", "strict", "inputExamples", "deferLoading", "providerOptions", "metadata"],
  ...["onInputStart", "onInputDelta", "onInputAvailable"],
];

/** In versions 7 and 6. */
const CONTEXT_NAMES = ["context", "experimental_context"];

/** `tool({ description, inputSchema, execute(input, { toolCallId, messages, abortSignal }) })`. */
export const aiSDKTool: Convention = {
  title: "AI SDK",
  fits: (tool) => isNamelessTool(tool) || isProviderTool(tool),
  convert(tool, options) {
    if (isProviderTool(tool)) {
      throw new TypeError("The provider runs this tool, so its calls cannot go through the gate.");
    }
    checkForeignKeys("AI SDK", tool, AI_SDK_KEYS);
    if (!isFunction(tool["execute"])) {
      throw new TypeError("It has no `execute` function: only tools that run here can be adopted.");
    }
    const contextSchema = options.context === undefined ? tool["contextSchema"] : undefined;
    const execute = methodOf(tool, "execute");
    const { description, toModelOutput } = tool;
    return {
      ...commonFields(tool, options),
      description: isFunction(description)
        ? String(description({ context: options.context ?? {} }))
        : (commonFields(tool, options).description ?? ""),
      parameters: aiSDKSchema(tool["inputSchema"]),
      output: tool["outputSchema"] === undefined ? undefined : aiSDKSchema(tool["outputSchema"]),
      contextSchema: contextSchema === undefined ? undefined : aiSDKSchema(contextSchema),
      strict: tool["strict"] === true ? true : undefined,
      toModelOutput: toModelOutput as AdoptedConfig["toModelOutput"],
      providerOptions: tool["providerOptions"] as AdoptedConfig["providerOptions"],
      permission: approvalOf(tool["needsApproval"], async (decide, input, host = options.context) => {
        // If the decision depends on what is not known here, a person decides.
        let needsMore = false;
        const unknown = (value: unknown) => () => {
          needsMore = true;
          return value;
        };
        const asked = withUnknown({ toolCallId: "" }, "messages", unknown([]));
        for (const name of CONTEXT_NAMES) {
          if (host === undefined) withUnknown(asked, name, unknown({}));
          else Object.assign(asked, { [name]: host });
        }
        return (await decide(input, asked)) || needsMore;
      }),
      async run(input: unknown, context: ToolContext) {
        const given = { toolCallId: context.callId, abortSignal: context.signal };
        for (const name of CONTEXT_NAMES) Object.assign(given, { [name]: context.host ?? options.context ?? {} });
        return lastOf(execute(input, withUnknown(given, "messages", noMessages)), context);
      },
    };
  },
};

function isProviderTool(tool: Fields): boolean {
  return (tool["type"] === "provider" || tool["type"] === "provider-defined") && "inputSchema" in tool;
}

/** A property that only a reader of it meets. It is left out of copies. */
function withUnknown<T extends object>(given: T, name: string, read: () => unknown): T {
  return Object.defineProperty(given, name, { get: read, enumerable: false });
}

function noMessages(): never {
  throw toolError("failed", "This tool reads `messages`, the conversation of the AI SDK, which Haft does not have.");
}

/** Schemas of the SDK contain JSON Schema, or come from a library. A function creates one. */
function aiSDKSchema(source: unknown): SchemaSource {
  const given = isFunction(source) && !("~standard" in source) ? source() : source;
  if (isObject(given) && Symbol.for("vercel.ai.schema") in given && isObject(given["jsonSchema"])) {
    const schema = toSchema(given["jsonSchema"] as JsonSchema);
    return isFunction(given["validate"]) ? withValidator(schema, given["validate"]) : schema;
  }
  return (given ?? []) as SchemaSource;
}

/** The SDK's own validator has the last word: it may check more than the JSON Schema says, and convert. */
function withValidator(schema: Schema, check: (value: unknown) => unknown): Schema {
  return {
    get jsonSchema() {
      return schema.jsonSchema;
    },
    async validate(value) {
      const validation = await schema.validate(value);
      if (validation.issues) return validation;
      const result = await check(validation.value);
      if (!isObject(result)) return validation;
      if (result["success"] === true) return { value: result["value"] };
      return { issues: [{ message: errorMessage(result["error"]) }] };
    },
  };
}

function requireContext(schema: unknown, { context }: AdoptOptions): void {
  if (schema === undefined || context !== undefined) return;
  throw new TypeError("It needs a context of its own: pass it as `adopt(tool, { context })`.");
}

/** A structured tool, or a function tool of `tool(…)`. */
export const langChainTool: Convention = {
  title: "LangChain",
  fits: (tool) => isFunction(tool["invoke"]) && Array.isArray(tool["lc_namespace"]) && "schema" in tool,
  convert(tool, options) {
    const invoke = methodOf(tool, "invoke");
    const common = commonFields(tool, options);
    return {
      ...common,
      parameters: rawInput(tool["schema"]),
      async run(input: unknown, { callId, signal, host }: ToolContext) {
        const call = { type: "tool_call", id: callId, name: textField(tool, "name"), args: input };
        return readToolMessage(await invoke(call, { signal, configurable: host ?? options.context }));
      },
    };
  },
};

function readToolMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  if ("lg_name" in message) {
    throw toolError("failed", "This tool returns a Command, which only LangGraph can carry out.");
  }
  const { content, artifact, status } = message;
  const shown = typeof content === "string" ? [text(content)] : Array.isArray(content) ? content.map(readBlock) : [];
  if (status === "error")
    throw toolError("failed", shown.map((block) => (block.type === "text" ? block.text : "")).join("\n"));
  if (artifact === undefined && typeof content === "string") return content;
  return { content: shown, details: artifact ?? content };
}

function readBlock(block: unknown): Content {
  if (typeof block === "string") return text(block);
  const { type, text: shown, data, image_url, mimeType, mime_type }: Fields = isObject(block) ? block : {};
  if (type === "text" && typeof shown === "string") return text(shown);
  const mediaType = mimeType ?? mime_type;
  if (type === "image" && typeof data === "string" && typeof mediaType === "string") {
    return { type: "image", data, mimeType: mediaType };
  }
  const url = isObject(image_url) ? image_url["url"] : image_url;
  const inline = typeof url === "string" ? /^data:([^;,]+);base64,(.*)$/s.exec(url) : undefined;
  if (inline) return { type: "image", data: inline[2] ?? "", mimeType: inline[1] ?? "" };
  if (typeof url === "string") return { type: "resource_link", uri: url, name: url };
  return text(JSON.stringify(block));
}

/** Function tools of the OpenAI Agents SDK. */
export const openAIAgentsTool: Convention = {
  title: "OpenAI Agents",
  fits: (tool) => tool["type"] === "function" && isFunction(tool["invoke"]) && "parameters" in tool,
  convert(tool, options) {
    for (const key of ["inputGuardrails", "outputGuardrails"]) {
      const guardrails = tool[key];
      if (Array.isArray(guardrails) && guardrails.length > 0) {
        throw new TypeError(
          `Its ${key} run only in the runner of the Agents SDK. Use rules, hooks or middleware instead.`,
        );
      }
    }
    const invoke = methodOf(tool, "invoke");
    const runOf = (host: unknown): object => ({ context: host ?? options.context ?? {} });
    const { timeoutMs } = tool;
    return {
      ...commonFields(tool, options),
      parameters: rawInput(tool["parameters"]),
      strict: tool["strict"] === true ? true : undefined,
      limits: typeof timeoutMs === "number" ? { timeoutMs } : undefined,
      permission: agentsApproval(tool["needsApproval"], runOf),
      async run(input: unknown, { callId, signal, host }: ToolContext) {
        const run = runOf(host);
        const { isEnabled = true } = tool;
        if (!(isFunction(isEnabled) ? await isEnabled(run) : isEnabled))
          throw toolError("unavailable", "The tool is disabled: its isEnabled is false");
        const output = await invoke(run, JSON.stringify(input), { toolCall: { callId }, signal });
        // The SDK turns an exception into this text, unless the tool has an `errorFunction` of its own.
        if (typeof output === "string" && output.startsWith("An error occurred while running the tool.")) {
          throw toolError("failed", output);
        }
        return output;
      },
    };
  },
};

/** The SDK puts a function without parameters into tools that say true, false or nothing. Its no says nothing. */
function agentsApproval(setting: unknown, runOf: (host: unknown) => object): AdoptedConfig["permission"] {
  if (!isFunction(setting) || setting.length > 0) {
    return approvalOf(setting, (decide, input, host) => decide(runOf(host), input, ""));
  }
  return async () => ((await setting()) === true ? ToolPermission.CONFIRM : undefined);
}

/** `createTool` of Mastra. */
export const mastraTool: Convention = {
  title: "Mastra",
  fits: (tool) => hasMastraMark(tool) || ("mastra" in tool && "suspendSchema" in tool),
  convert(tool, options) {
    if (!hasMastraMark(tool))
      throw new TypeError("It needs Mastra 1 from 1.5 on: earlier versions call it differently.");
    if (tool["suspendSchema"] !== undefined || tool["resumeSchema"] !== undefined) {
      throw new TypeError("It suspends its run, which only Mastra can resume. Ask with `permission` instead.");
    }
    if (!isFunction(tool["execute"])) throw new TypeError("It has no `execute` function.");
    requireContext(tool["requestContextSchema"], options);
    const execute = methodOf(tool, "execute");
    const { toModelOutput, mcp, strict, needsApprovalFn, requireApproval } = tool;
    const declared = kindOf(isObject(mcp) ? mcp["annotations"] : undefined, options);
    return {
      ...commonFields(tool, options),
      ...declared,
      parameters: rawInput(tool["inputSchema"]),
      strict: strict === true ? true : undefined,
      toModelOutput: isFunction(toModelOutput) ? ({ output }) => toModelOutput(output) as ModelOutput : undefined,
      permission: strictest(
        approvalIfStated(needsApprovalFn ?? requireApproval, (decide, input, host = options.context) =>
          decide(input, { requestContext: host ?? {} }),
        ),
        declared.permission,
      ),
      async run(input: unknown, { callId, signal, host }: ToolContext) {
        const output = await execute(input, {
          abortSignal: signal,
          requestContext: host ?? options.context,
          agent: { toolCallId: callId, messages: [] },
        });
        if (isObject(output) && output["error"] === true && "validationErrors" in output) {
          throw toolError("invalid_input", String(output["message"]));
        }
        return output;
      },
    };
  },
};

function hasMastraMark(tool: Fields): boolean {
  return Object.getOwnPropertySymbols(tool).some((symbol) => symbol.description === "mastra.core.tool.Tool");
}

const TANSTACK_KEYS = [
  ...["__toolSide", "name", "description", "inputSchema", "outputSchema", "approvalSchema", "needsApproval", "execute"],
  ...["lazy", "metadata"],
];

/** `toolDefinition(…).server(execute)` of TanStack AI. */
export const tanStackTool: Convention = {
  title: "TanStack AI",
  fits: (tool) => typeof tool["__toolSide"] === "string",
  convert(tool, options) {
    if (tool["__toolSide"] !== "server" || !isFunction(tool["execute"])) {
      throw new TypeError("Only its server side runs here: adopt what `.server(execute)` returns.");
    }
    checkForeignKeys("TanStack AI", tool, TANSTACK_KEYS);
    if (tool["approvalSchema"] !== undefined) {
      throw new TypeError("Its approvals carry data (`approvalSchema`), which an approval in Haft does not have.");
    }
    const execute = methodOf(tool, "execute");
    return {
      ...commonFields(tool, options),
      parameters: (tool["inputSchema"] ?? []) as SchemaSource,
      output: tool["outputSchema"] as SchemaSource | undefined,
      permission: approvalOf(tool["needsApproval"], (decide, input) => decide(input)),
      run(input: unknown, context: ToolContext) {
        const output = execute(input, {
          toolCallId: context.callId,
          abortSignal: context.signal,
          context: context.host ?? options.context,
          emitCustomEvent: (name: string, value: unknown) => report(context, { name, value }),
        });
        return lastOf(output, context);
      },
    };
  },
};

/** Tools of Genkit are functions with a description of their action. */
export const genkitTool: Convention = {
  title: "Genkit",
  fits: (tool) => isFunction(tool) && isObject(tool["__action"]),
  convert(tool, options) {
    const action = isObject(tool["__action"]) ? tool["__action"] : {};
    const call = tool as unknown as (input: unknown, options: object) => unknown;
    return {
      ...commonFields(action, options),
      parameters: rawInput(action["inputSchema"] ?? action["inputJsonSchema"]),
      run: (input: unknown, { signal, host }: ToolContext) =>
        call(input, { context: host ?? options.context ?? {}, abortSignal: signal }),
    };
  },
};

/** `tool(…)` and `FunctionTool` of LlamaIndex. */
export const llamaIndexTool: Convention = {
  title: "LlamaIndex",
  fits: (tool) =>
    isObject(tool["metadata"]) && typeof tool["metadata"]["name"] === "string" && isFunction(tool["call"]),
  convert(tool, options) {
    const metadata = isObject(tool["metadata"]) ? tool["metadata"] : {};
    const bound = options.context !== undefined && isFunction(tool["bind"]) ? tool["bind"](options.context) : tool;
    const call = methodOf(isObject(bound) ? bound : tool, "call");
    return {
      ...commonFields(metadata, options),
      parameters: rawInput(metadata["parameters"]),
      run: (input: unknown) => call(input),
    };
  },
};

/** `FunctionTool` and other tools of Google's Agent Development Kit. */
export const adkTool: Convention = {
  title: "Google ADK",
  fits: (tool) => isFunction(tool["runAsync"]) && isFunction(tool["_getDeclaration"]),
  convert(tool, options) {
    const run = methodOf(tool, "runAsync");
    const { requireConfirmation } = tool;
    return {
      ...commonFields(tool, options),
      parameters: rawInput(adkParameters(tool)),
      permission: approvalIfStated(requireConfirmation, (decide, input) => decide(input, undefined)),
      async run(input: unknown, { signal }: ToolContext) {
        // Only if the gate has asked about this call. A tool that asks by itself must not take silence for a yes.
        const isAsked = isFunction(requireConfirmation) ? await requireConfirmation(input) : requireConfirmation;
        const toolContext = {
          toolConfirmation: isAsked ? { confirmed: true } : undefined,
          requestConfirmation: refuseConfirmation,
          abortSignal: signal,
          state: options.context,
          actions: {},
        };
        const output = await run({ args: input, toolContext });
        const error = isObject(output) && Object.keys(output).length === 1 ? output["error"] : undefined;
        if (typeof error === "string") throw toolError("failed", error);
        return output;
      },
    };
  },
};

function refuseConfirmation(): never {
  throw toolError("failed", "This tool asks for a confirmation while it runs. Set its `requireConfirmation` instead.");
}

function adkParameters(tool: Fields): unknown {
  const { parameters } = tool;
  if ((isObject(parameters) || isFunction(parameters)) && "~standard" in parameters) return parameters;
  const declaration = methodOf(tool, "_getDeclaration")();
  if (!isObject(declaration))
    throw new TypeError("It has no declaration of its parameters: Google runs it, not this program.");
  return lowerCaseTypes(declaration["parametersJsonSchema"] ?? declaration["parameters"] ?? []);
}

/** Google writes `OBJECT` for `object`. */
function lowerCaseTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lowerCaseTypes);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === "type" && typeof value === "string" ? [key, value.toLowerCase()] : [key, lowerCaseTypes(value)],
    ),
  );
}

const CLAUDE_KEYS = ["name", "description", "inputSchema", "handler", "annotations", "_meta"];

/** `tool(name, description, shape, handler, { annotations })` of the Claude Agent SDK. */
export const claudeAgentTool: Convention = {
  title: "Claude Agent SDK",
  fits: (tool) => isFunction(tool["handler"]) && typeof tool["name"] === "string" && "inputSchema" in tool,
  convert(tool, options) {
    checkForeignKeys("Claude Agent SDK", tool, CLAUDE_KEYS);
    const handler = methodOf(tool, "handler");
    const { inputSchema } = tool;
    const isShape = isObject(inputSchema) && !("~standard" in inputSchema);
    return {
      ...commonFields(tool, options),
      ...kindOf(tool["annotations"], options),
      parameters: isShape ? shapeSchema(inputSchema) : (inputSchema as SchemaSource),
      run: (input: unknown, { callId, signal }: ToolContext) => handler(input, { signal, requestId: callId }),
    };
  },
};

const MCP_KEYS = [
  ...["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"],
];

/** A definition that an MCP server lists, and a function that calls it. What a server says of itself is not believed. */
export const mcpTool: Convention = {
  title: "MCP",
  fits: (tool) =>
    typeof tool["name"] === "string" &&
    isObject(tool["inputSchema"]) &&
    tool["inputSchema"]["type"] === "object" &&
    Object.values(tool).every((value) => !isFunction(value)),
  convert(tool, options) {
    checkForeignKeys("MCP", tool, MCP_KEYS);
    const { call } = options;
    if (call === undefined) {
      throw new TypeError("An MCP definition needs a caller: `adopt(definition, { call: (name, input) => … })`.");
    }
    const name = textField(tool, "name") ?? "";
    return {
      ...commonFields(tool, options),
      parameters: tool["inputSchema"] as JsonSchema,
      permission: options.kind === "readonly" || options.needsApproval === false ? undefined : ToolPermission.CONFIRM,
      run: (input: unknown, { signal }: ToolContext) => call(name, input, { signal }),
    } satisfies AdoptedConfig;
  },
};
