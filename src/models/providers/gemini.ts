import type { ToolResult } from "../../core/result.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { blockText, matchResults } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";
import { GEMINI_RULES } from "./provider-schema-rules.ts";

export interface GeminiFunction {
  name: string;
  description: string;
  /** Omitted if the tool has no parameters: Gemini rejects an object without properties. */
  parameters?: GeminiSchema;
  /** Replaces `parameters` if `rich` is set. */
  parametersJsonSchema?: unknown;
}

/** For `config.tools`, as `[{ functionDeclarations: tools }]`. Gemini does not enforce schemas. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<GeminiFunction> {
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

/** The fields of a response, or of a chunk of it, that concern calls. */
export interface GeminiResponse {
  candidates?: readonly { content?: { parts?: readonly { functionCall?: GeminiCall }[] } }[];
}

function callsIn(response: GeminiResponse): GeminiCall[] {
  return (response.candidates?.[0]?.content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
}

/** The calls in an answer. */
function readCalls(response: GeminiResponse, options: ReadOptions = {}): ModelCall[] {
  return toModelCalls(
    callsIn(response).map(({ id, name, args }) => ({ id, name, arguments: args })),
    options,
  );
}

/** A chunk has complete calls, unless the request enables streaming of arguments. */
function createReader(options: ReadOptions = {}): CallReader<GeminiResponse> {
  const raw = new StreamedCalls(options);
  let openSlot: number | undefined;
  return {
    push(response) {
      for (const { id, name, args, partialArgs = [], willContinue } of callsIn(response)) {
        const slot: number = openSlot ?? raw.size;
        const call = raw.at(slot);
        if (id) call.id = id;
        if (name) call.name = name;
        if (args) call.data = args;
        if (partialArgs.length > 0 && !isHolder(call.data)) call.data = {};
        for (const part of partialArgs) if (isHolder(call.data)) putArgument(call.data, part);
        openSlot = willContinue ? slot : undefined;
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

/** One content. Images and audio follow the results, where every Gemini model accepts them. */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): GeminiContent[] {
  if (calls.length === 0) return [];
  const parts: GeminiPart[] = [];
  const media: GeminiPart[] = [];
  for (const { call, id, name, isError, content } of matchResults(calls, results)) {
    let count = 0;
    const joined = content.map((block) => {
      if (block.type !== "image" && block.type !== "audio") return blockText(block);
      media.push({ text: `${block.type} ${++count} of ${name}:` });
      media.push({ inlineData: { mimeType: block.mimeType, data: block.data } });
      return `(${block.type} ${count} of ${name} follows)`;
    });
    const output = joined.join("\n");
    // Gemini does not know generated ids. It matches results without an id by name and order.
    const functionResponse = { name, response: isError ? { error: output } : { output } };
    parts.push({ functionResponse: call.shown?.id === undefined ? { id, ...functionResponse } : functionResponse });
  }
  return [{ role: "user", parts: [...parts, ...media] }];
}

type GeminiType = "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL";

/** Gemini's form of OpenAPI 3.0: one type per schema, null as `nullable`, lengths as strings. */
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

const LENGTHS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;
const TYPES = new Map<unknown, GeminiType>([
  ["string", "STRING"],
  ["number", "NUMBER"],
  ["integer", "INTEGER"],
  ["boolean", "BOOLEAN"],
  ["array", "ARRAY"],
  ["object", "OBJECT"],
]);

/** Converts a schema that was simplified by Gemini's rules. */
function toGeminiSchema(schema: JsonSchema): GeminiSchema {
  const { type, items, anyOf, properties, required, ...rest } = schema;
  const types = type === undefined ? [] : [type].flat();
  const geminiTypes = types.flatMap((each) => TYPES.get(each) ?? []);
  const written: GeminiSchema = { ...rest };
  for (const length of LENGTHS) if (rest[length] !== undefined) written[length] = String(rest[length]);
  if (isObject(properties)) {
    const converted = Object.entries(properties).flatMap(([name, each]) =>
      isObject(each) ? [[name, toGeminiSchema(each)] as const] : [],
    );
    if (converted.length > 0) written.properties = Object.fromEntries(converted);
  }
  if (Array.isArray(required) && required.length > 0) written.required = required.map(String);
  if (isObject(items)) written.items = withType(toGeminiSchema(items));
  if (types.includes("null")) written.nullable = true;
  if (geminiTypes.length > 1) {
    const { title, description, nullable } = written;
    return {
      title,
      description,
      nullable,
      // Gemini rejects `items` on other types than arrays.
      anyOf: geminiTypes.map((each) => ({
        type: each,
        items: each === "ARRAY" ? (written.items ?? { type: "STRING" }) : undefined,
      })),
    };
  }
  const [only] = geminiTypes;
  if (only !== undefined) written.type = only;
  else if (types.length === 1) written.type = "NULL";
  if (!Array.isArray(anyOf)) return written;
  const choices = anyOf.filter((choice) => isObject(choice) && choice["type"] !== "null").map(toGeminiSchema);
  if (choices.length < anyOf.length) written.nullable = true;
  const [choice] = choices;
  return choices.length === 1 && choice ? { ...choice, ...written } : { ...written, anyOf: choices.map(withType) };
}

/** Gemini requires a type for items. A string is the best choice if the schema accepts anything. */
function withType(schema: GeminiSchema): GeminiSchema {
  return schema.type === undefined && schema.anyOf === undefined ? { type: "STRING", ...schema } : schema;
}

/** A piece of streamed arguments: a value, or more of a string, at a path such as `$.lines[0].text`. */
interface PartialArgument {
  jsonPath?: string;
  stringValue?: string;
  numberValue?: number;
  boolValue?: boolean;
  nullValue?: unknown;
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]/g;

const MAX_ITEMS = 10_000;

/** Writes one piece into `root`. Ignores an invalid path. */
function putArgument(root: Holder, part: PartialArgument): void {
  const steps = Array.from((part.jsonPath ?? "").matchAll(STEP), (step) =>
    step[2] === undefined ? (step[1] ?? step[3] ?? step[4] ?? "") : Number(step[2]),
  );
  const last = steps.at(-1);
  if (last === undefined || steps.some((step) => typeof step === "number" && step > MAX_ITEMS)) return;
  let holder = root;
  for (const [at, step] of steps.slice(0, -1).entries()) {
    let child = own(holder, step);
    if (!isHolder(child)) put(holder, step, (child = typeof steps[at + 1] === "number" ? [] : {}));
    if (isHolder(child)) holder = child;
  }
  const before = own(holder, last);
  const { stringValue, numberValue, boolValue } = part;
  if (stringValue !== undefined) put(holder, last, (typeof before === "string" ? before : "") + stringValue);
  else put(holder, last, numberValue ?? boolValue ?? null);
}

/** An object or a list. */
type Holder = Record<PropertyKey, unknown>;

function isHolder(value: unknown): value is Holder {
  return typeof value === "object" && value !== null;
}

function own(holder: Holder, key: PropertyKey): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Defines an own property, even for the name `__proto__`, which the gate rejects later. */
function put(holder: Holder, key: PropertyKey, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** The Gemini API. */
export const geminiFormat = { toTools, readCalls, createReader, toMessages };
