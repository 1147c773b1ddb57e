import type { ToolResult } from "../../core/result.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { answerCalls, blockText } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, RawCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";
import { GEMINI_RULES } from "./provider-schema-rules.ts";

export interface GeminiFunction {
  name: string;
  description: string;
  /** Absent where a tool takes none: an object without properties is refused. */
  parameters?: GeminiSchema;
  /** In place of `parameters`, with `rich`. */
  parametersJsonSchema?: unknown;
}

/** For `config.tools`, as `[{ functionDeclarations: tools }]`. Gemini does not enforce schemas. */
export function toGeminiTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<GeminiFunction> {
  return defineTools(tools, { ...options, strict: false }, { rules: GEMINI_RULES }, ({ name, description, schema }) => {
    if (options.rich) return { name, description, parametersJsonSchema: schema };
    const parameters = toGeminiSchema(schema);
    const isEmpty = Object.keys(parameters.properties ?? {}).length === 0;
    return { name, description, parameters: isEmpty ? undefined : parameters };
  });
}

interface GeminiCall {
  id?: string;
  name?: string;
  args?: Record<string, unknown>;
  partialArgs?: readonly PartialArgument[];
  willContinue?: boolean;
}

/** The part of a response, whole or one of a stream, that holds calls. */
export interface GeminiResponse {
  candidates?: readonly { content?: { parts?: readonly { functionCall?: GeminiCall }[] } }[];
}

function callsIn(response: GeminiResponse): GeminiCall[] {
  return (response.candidates?.[0]?.content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
}

export function readGeminiCalls(response: GeminiResponse, options: ReadOptions = {}): ModelCall[] {
  return toModelCalls(
    callsIn(response).map(({ id, name, args }) => ({ id, name, arguments: args })),
    options,
  );
}

/** Calls come whole, one or several a chunk, unless their arguments were asked to be streamed. */
export function createGeminiReader(options: ReadOptions = {}): CallReader<GeminiResponse> {
  const raw = new RawCalls(options);
  let growing: number | undefined;
  return {
    push(response) {
      for (const { id, name, args, partialArgs = [], willContinue } of callsIn(response)) {
        const slot: number = growing ?? raw.size;
        const call = raw.at(slot);
        if (id) call.id = id;
        if (name) call.name = name;
        if (args) call.data = args;
        for (const part of partialArgs) call.data = putArgument(call.data ?? {}, part);
        growing = willContinue ? slot : undefined;
      }
    },
    calls: () => raw.calls(),
  };
}

type GeminiPart =
  | { functionResponse: { id?: string; name: string; response: { output: string } | { error: string } } }
  | { text: string }
  | { inlineData: { mimeType: string; data: string } };

export interface GeminiContent {
  role: "user";
  parts: GeminiPart[];
}

/** One content. Images and sounds stand behind the answers, where every Gemini model takes them. */
export function toGeminiContents(calls: readonly ModelCall[], results: readonly ToolResult[]): GeminiContent[] {
  if (calls.length === 0) return [];
  const answers = answerCalls(calls, results);
  const parts: GeminiPart[] = [];
  const media: GeminiPart[] = [];
  for (const { call, id, name, isError, content } of answers) {
    let count = 0;
    const joined = content.map((block) => {
      if (block.type !== "image" && block.type !== "audio") return blockText(block);
      media.push({ text: `${block.type} ${++count} of ${name}:` });
      media.push({ inlineData: { mimeType: block.mimeType, data: block.data } });
      return `(${block.type} ${count} of ${name} follows)`;
    });
    const output = joined.join("\n");
    // An id that Gemini did not give means nothing to it: there answers are matched by name and order.
    const given = call.shown?.id === undefined ? { id } : {};
    parts.push({ functionResponse: { ...given, name, response: isError ? { error: output } : { output } } });
  }
  return [{ role: "user", parts: [...parts, ...media] }];
}

export type GeminiType = "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL";

/** OpenAPI 3.0 as Gemini has it: one type a schema, null as `nullable`, counts as text. */
export interface GeminiSchema {
  type?: GeminiType;
  description?: string;
  title?: string;
  nullable?: boolean;
  enum?: string[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: string;
  maxLength?: string;
  minItems?: string;
  maxItems?: string;
  minProperties?: string;
  maxProperties?: string;
  items?: GeminiSchema;
  anyOf?: GeminiSchema[];
  properties?: Record<string, GeminiSchema>;
  required?: string[];
}

const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;

/** From a schema that was made portable by Gemini's rules. */
function toGeminiSchema(schema: JsonSchema): GeminiSchema {
  const { type, items, anyOf, properties, required, ...rest } = schema;
  const types = type === undefined ? [] : [type].flat().map(String);
  const plainTypes = types.filter((each) => each !== "null");
  const written: GeminiSchema = { ...(rest as GeminiSchema) };
  for (const count of COUNTS) if (rest[count] !== undefined) written[count] = String(rest[count]);
  if (isObject(properties)) {
    const entries = Object.entries(properties as Record<string, JsonSchema>);
    if (entries.length > 0)
      written.properties = Object.fromEntries(entries.map(([name, each]) => [name, toGeminiSchema(each)]));
  }
  if (Array.isArray(required) && required.length > 0) written.required = required as string[];
  if (isObject(items)) written.items = withType(toGeminiSchema(items));
  if (types.includes("null")) written.nullable = true;
  if (plainTypes.length > 1) {
    // Each type takes with it what belongs to it; `items` alone is refused elsewhere.
    const { items: list, ...shared } = written;
    return {
      ...annotationsOf(shared),
      anyOf: plainTypes.map((each) => ({
        type: each.toUpperCase() as GeminiType,
        items: each === "array" ? (list ?? { type: "STRING" }) : undefined,
      })),
    };
  }
  const [only] = plainTypes;
  if (only !== undefined) written.type = only.toUpperCase() as GeminiType;
  else if (types.length === 1) written.type = "NULL";
  if (!Array.isArray(anyOf)) return written;
  const choices = (anyOf as JsonSchema[]).filter((choice) => choice["type"] !== "null").map(toGeminiSchema);
  if (choices.length < anyOf.length) written.nullable = true;
  const [choice] = choices;
  return choices.length === 1 && choice ? { ...choice, ...written } : { ...written, anyOf: choices.map(withType) };
}

function annotationsOf({ description, title, nullable }: GeminiSchema): GeminiSchema {
  return {
    title,
    description,
    nullable: nullable || undefined,
  };
}

/** Gemini wants a type for items; where anything goes, text says most. */
function withType(schema: GeminiSchema): GeminiSchema {
  return schema.type === undefined && schema.anyOf === undefined ? { type: "STRING", ...schema } : schema;
}

/** A piece of streamed arguments: a value, or more of a text, at a place such as `$.lines[0].text`. */
interface PartialArgument {
  jsonPath?: string;
  stringValue?: string;
  numberValue?: number;
  boolValue?: boolean;
  nullValue?: unknown;
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]/g;

/** Puts one piece into `root`, which is changed. A path that cannot be read leaves it as it is. */
function putArgument(root: unknown, part: PartialArgument): unknown {
  const steps = Array.from((part.jsonPath ?? "").matchAll(STEP), (step) =>
    step[2] === undefined ? (step[1] ?? step[3] ?? step[4] ?? "") : Number(step[2]),
  );
  const last = steps.at(-1);
  if (last === undefined || steps.some((step) => typeof step === "number" && step > MAX_ITEMS)) return root;
  let holder = root as Holder;
  for (const [at, step] of steps.slice(0, -1).entries()) {
    const below = own(holder, step);
    if (typeof below === "object" && below !== null) holder = below as Holder;
    else holder = put(holder, step, typeof steps[at + 1] === "number" ? [] : {}) as Holder;
  }
  const before = own(holder, last);
  const { stringValue, numberValue, boolValue } = part;
  if (stringValue !== undefined) put(holder, last, (typeof before === "string" ? before : "") + stringValue);
  else put(holder, last, numberValue ?? boolValue ?? null);
  return root;
}

const MAX_ITEMS = 10_000;

type Holder = Record<PropertyKey, unknown>;

function own(holder: Holder, key: PropertyKey): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** As a property of its own, also where the name is `__proto__`; the gate refuses that one. */
function put(holder: Holder, key: PropertyKey, value: unknown): unknown {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
  return value;
}
