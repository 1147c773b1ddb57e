import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { defineTools, type ShownNames } from "../providers/define-tools.ts";
import { toModelCalls } from "../providers/model-calls.ts";
import { COMMON_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import type { AgentModel, MessagePart } from "./agent.ts";
import { type LanguageModel, type ModelCallOptions, readGenerated, readStream } from "./language-model.ts";
import { writePrompt } from "./prompt.ts";

/** How tools are told to models with function calling, and how their calls are read. The formats know. */
interface FunctionCallingFormat {
  define(tools: readonly AnyTool[]): DefinedTools;
}

export interface DefinedTools {
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
  format: FunctionCallingFormat,
  settings: ModelSettings = {},
): AgentModel {
  let known: { tools: readonly AnyTool[]; defined: DefinedTools; written: unknown } | undefined;
  return {
    id: modelIdOf(model),
    async respond({ system, messages, tools, signal }, onDelta) {
      if (known?.tools !== tools) {
        const defined = format.define(tools);
        known = { tools, defined, written: defined.definitions.map(writeDefinition) };
      }
      const { defined, written } = known;
      const options = {
        ...settings,
        prompt: writePrompt(system, messages, { version: model.specificationVersion, shownName: defined.shownName }),
        ...(tools.length > 0 ? { tools: written, toolChoice: { type: "auto" } } : {}),
        abortSignal: signal,
      } as unknown as ModelCallOptions;
      const turn = onDelta
        ? await readStream((await model.doStream(options)).stream, onDelta)
        : readGenerated(await model.doGenerate(options));
      const warnings: string[] = [];
      const parts = turn.parts.map((part): MessagePart => {
        const data = part.providerMetadata === undefined ? {} : { providerData: part.providerMetadata };
        if (part.type === "text") return { type: "text", text: part.text };
        if (part.type === "reasoning") return { type: "reasoning", text: part.text, ...data };
        const read = defined.read({ name: part.toolName, text: part.input });
        warnings.push(...read.warnings.map((warning) => `${read.name}: ${warning}`));
        return { type: "tool_call", callId: part.toolCallId, name: read.name, input: read.input, ...data };
      });
      return { parts, usage: turn.usage, finish: turn.finish, warnings: warnings.length > 0 ? warnings : undefined };
    },
  };
}

/** `provider/model`; the SDK's own names of providers say the kind of model as well (`openai.chat`). */
export function modelIdOf({ provider, modelId }: LanguageModel): string {
  return `${provider.split(".", 1)[0]}/${modelId}`;
}

function writeDefinition({ name, description, schema, strict }: DefinedTools["definitions"][number]): unknown {
  return { type: "function", name, description, inputSchema: schema, strict: strict || undefined };
}

const RULES = { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES };

/** Function calling that every provider takes: portable schemas and names, and arguments mended where they mean one thing. */
export function createFunctionCallingFormat({
  dialect,
}: { dialect?: DialectName | undefined } = {}): FunctionCallingFormat {
  return {
    define(tools) {
      const shown = defineTools(tools, dialect === undefined ? {} : { dialect }, RULES, (definition) => definition);
      const shownAs = reverse(shown.names);
      return {
        definitions: shown.tools,
        shownName: (name) => shownAs.get(name) ?? name,
        read({ name, text }) {
          const [call] = toModelCalls([{ name, arguments: text }], { names: shown.names });
          return { name: call!.name, input: call!.input, warnings: call!.repairs ?? [] };
        },
      };
    },
  };
}

function reverse(names: ShownNames): ReadonlyMap<string, string> {
  return new Map(Array.from(names, ([shown, { name }]) => [name, shown]));
}
