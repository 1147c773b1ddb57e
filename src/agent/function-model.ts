import type { AnyTool } from "../core/tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { AgentModel } from "./agent-model.ts";
import type { LanguageModel, ModelCallOptions } from "./language-model.ts";
import type { MessagePart } from "./message.ts";
import { readGenerated, readStream } from "./read-turn.ts";
import { writePrompt } from "./write-prompt.ts";

/** How tools are told to models with function calling, and how their calls are read. The formats know. */
export interface FunctionSpeech {
  define(tools: readonly AnyTool[]): ToldTools;
}

export interface ToldTools {
  readonly definitions: readonly { name: string; description: string; schema: JsonSchema; strict: boolean }[];
  /** The name that a provider was told for a tool. */
  shownName(name: string): string;
  /** `warnings` say what had to be mended. */
  read(call: { name: string; text: string }): { name: string; input: unknown; warnings: readonly string[] };
}

/** What is said with every request to the model. */
export interface ModelSettings {
  maxOutputTokens?: number;
  temperature?: number;
  /** By provider, as its package documents them. */
  providerOptions?: Readonly<Record<string, unknown>>;
}

/** A language model that is told of tools by its provider's function calling. */
export function createFunctionModel(
  model: LanguageModel,
  speech: FunctionSpeech,
  settings: ModelSettings = {},
): AgentModel {
  let known: { tools: readonly AnyTool[]; told: ToldTools; written: unknown } | undefined;
  return {
    id: modelIdOf(model),
    async respond({ system, messages, tools, signal }, hear) {
      if (known?.tools !== tools) {
        const told = speech.define(tools);
        known = { tools, told, written: told.definitions.map(writeDefinition) };
      }
      const { told, written } = known;
      const options = {
        ...settings,
        prompt: writePrompt(system, messages, { version: model.specificationVersion, shownName: told.shownName }),
        ...(tools.length > 0 ? { tools: written, toolChoice: { type: "auto" } } : {}),
        abortSignal: signal,
      } as unknown as ModelCallOptions;
      const turn = hear
        ? await readStream((await model.doStream(options)).stream, hear)
        : readGenerated(await model.doGenerate(options));
      const warnings: string[] = [];
      const parts = turn.parts.map((part): MessagePart => {
        const data = part.providerMetadata === undefined ? {} : { providerData: part.providerMetadata };
        if (part.type === "text") return { type: "text", text: part.text };
        if (part.type === "reasoning") return { type: "reasoning", text: part.text, ...data };
        const read = told.read({ name: part.toolName, text: part.input });
        warnings.push(...read.warnings.map((warning) => `${read.name}: ${warning}`));
        return { type: "tool_call", callId: part.toolCallId, name: read.name, input: read.input, ...data };
      });
      return { parts, usage: turn.usage, finish: turn.finish, ...(warnings.length > 0 ? { warnings } : {}) };
    },
  };
}

/** `provider/model`; the SDK's own names of providers say the kind of model as well (`openai.chat`). */
export function modelIdOf({ provider, modelId }: LanguageModel): string {
  return `${provider.split(".", 1)[0]}/${modelId}`;
}

function writeDefinition({ name, description, schema, strict }: ToldTools["definitions"][number]): unknown {
  return { type: "function", name, description, inputSchema: schema, ...(strict ? { strict } : {}) };
}
