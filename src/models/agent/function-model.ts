import type { AnyTool, DialectName, InputListeners } from "../../core/tool.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { defineTools, type ShownDefinition, type ShownNames } from "../providers/define-tools.ts";
import { toModelCalls } from "../providers/model-calls.ts";
import { COMMON_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import type { AgentModel, MessagePart } from "./agent.ts";
import { callOptions, type InputEvent, type LanguageModel, readGenerated, readStream } from "./language-model.ts";
import { writePrompt } from "./prompt.ts";

/** Defines tools for models with function calling, and reads their calls. */
interface FunctionCallingFormat {
  define(tools: readonly AnyTool[]): DefinedTools;
}

interface DefinedTools {
  readonly definitions: readonly ShownDefinition[];
  /** The name of a tool for the provider. */
  shownName(name: string): string;
  /** `warnings` are the repairs that were needed. */
  read(call: { name: string; text: string }): { name: string; input: unknown; warnings: readonly string[] };
}

/** Settings for every request to the model. */
export interface ModelSettings {
  /** The model's own limit for one answer. */
  maxOutputTokens?: number;
  /** As the provider takes it. */
  temperature?: number;
  /** By provider; see the documentation of its package. */
  providerOptions?: Readonly<Record<string, unknown>>;
}

/** A model that gets its tools through function calling. */
export function createFunctionModel(
  model: LanguageModel,
  format: FunctionCallingFormat,
  settings: ModelSettings = {},
): AgentModel {
  let cached: { tools: readonly AnyTool[]; defined: DefinedTools; written: unknown[] } | undefined;
  return {
    id: modelIdOf(model),
    async respond({ system, messages, tools, signal }, onDelta) {
      if (cached?.tools !== tools) {
        const defined = format.define(tools);
        cached = { tools, defined, written: defined.definitions.map(writeDefinition) };
      }
      const { defined, written } = cached;
      const showInput = inputShower(tools, (name) => defined.read({ name, text: "" }).name);
      const shownName = (name: string): string => defined.shownName(name);
      const options = callOptions({
        ...settings,
        prompt: writePrompt(system, messages, { version: model.specificationVersion, shownName }),
        tools: tools.length > 0 ? written : undefined,
        toolChoice: tools.length > 0 ? { type: "auto" } : undefined,
        abortSignal: signal,
      });
      const turn = onDelta
        ? await readStream((await model.doStream(options)).stream, onDelta, showInput)
        : readGenerated(await model.doGenerate(options));
      const warnings: string[] = [];
      const parts = turn.parts.map((part): MessagePart => {
        const { providerMetadata: providerData } = part;
        if (part.type === "text") return { type: "text", text: part.text };
        if (part.type === "reasoning") return { type: "reasoning", text: part.text, providerData };
        const read = defined.read({ name: part.toolName, text: part.input });
        showInput({ id: part.toolCallId, toolName: part.toolName, input: read.input ?? {} });
        warnings.push(...read.warnings.map((warning) => `${read.name}: ${warning}`));
        return { type: "tool_call", callId: part.toolCallId, name: read.name, input: read.input, providerData };
      });
      return { parts, usage: turn.usage, finish: turn.finish, warnings: warnings.length > 0 ? warnings : undefined };
    },
  };
}

/** `provider/model`. Provider names of the SDK contain the kind of model as well (`openai.chat`), which is removed. */
export function modelIdOf({ provider, modelId }: LanguageModel): string {
  return `${provider.split(".", 1)[0]}/${modelId}`;
}

function writeDefinition(definition: DefinedTools["definitions"][number]): unknown {
  const { name, description, schema, strict, providerOptions } = definition;
  return { type: "function", name, description, inputSchema: schema, strict: strict || undefined, providerOptions };
}

/** Shows a tool of the host what a model writes for it. What its listeners do has no effect on the call. */
function inputShower(tools: readonly AnyTool[], nameOf: (shown: string) => string): (event: InputEvent) => void {
  const open = new Map<string, InputListeners>();
  return ({ id: toolCallId, toolName, delta, input }) => {
    const of = toolName === undefined ? undefined : tools.find(({ name }) => name === nameOf(toolName));
    if (of?.inputListeners) open.set(toolCallId, of.inputListeners);
    const listeners = open.get(toolCallId);
    const show = async (): Promise<void> => {
      if (input !== undefined) await listeners?.onInputAvailable?.({ toolCallId, input: structuredClone(input) });
      else if (delta === undefined) await listeners?.onInputStart?.({ toolCallId });
      else await listeners?.onInputDelta?.({ toolCallId, inputTextDelta: delta });
    };
    show().catch(() => undefined);
  };
}

const RULES = { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES };

/** Function calling for every provider: portable schemas and names, and repaired arguments. */
export function createFunctionCallingFormat({
  dialect,
}: { dialect?: DialectName | undefined } = {}): FunctionCallingFormat {
  return {
    define(tools) {
      const shown = defineTools(tools, { dialect }, RULES, (definition) => definition);
      const shownAs = reverse(shown.names);
      return {
        definitions: shown.tools,
        shownName: (name) => shownAs.get(name) ?? name,
        read({ name, text }) {
          const [call] = toModelCalls([{ name, arguments: text }], { names: shown.names });
          return { name: call?.name ?? name, input: call?.input, warnings: call?.repairs ?? [] };
        },
      };
    },
  };
}

function reverse(names: ShownNames): ReadonlyMap<string, string> {
  return new Map(Array.from(names, ([shown, { name }]) => [name, shown]));
}
