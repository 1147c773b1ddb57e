import { BIGINT, DATE, describeMap, describeSet } from "./convert-input.ts";
import { eachSubschema, isObject, type JsonSchema } from "./json-schema.ts";
import { loadPackage } from "./load-package.ts";
import type { Validation } from "./schema.ts";

const TARGET = "draft-2020-12";

/** The used part of Standard Schema and Standard JSON Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      input(options: { target: string; libraryOptions?: Record<string, unknown> }): Record<string, unknown>;
    };
  };
}

/** The JSON Schema of the input of a Standard Schema. What JSON Schema cannot express is accepted, never rejected. */
export function describeStandard(source: StandardSchema): JsonSchema {
  const standard = source["~standard"];
  const { vendor } = standard;
  try {
    const { $schema: _, ...described } = convert(source, vendor);
    return described;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`This ${vendor} schema cannot be described as JSON Schema: ${reason}`, { cause });
  }
}

function convert(source: StandardSchema, vendor: string): Record<string, unknown> {
  const standard = source["~standard"];
  // Before Zod 3: the JSON Schemas that Zod 4 writes are Standard Schemas too.
  if (standard.jsonSchema) {
    return standard.jsonSchema.input({ target: TARGET, libraryOptions: libraryOptions(vendor) });
  }
  if (vendor === "zod" && !("_zod" in source)) return describeZod3(source);
  if (vendor === "zod") return describeZod4(source);
  if (vendor === "valibot") return describeValibot(source);
  throw new Error(
    'it has no "~standard.jsonSchema"; use a JSON Schema, or a schema of Zod, Valibot, ArkType or TypeBox',
  );
}

function libraryOptions(vendor: string): Record<string, unknown> {
  if (vendor === "zod") return ZOD_OPTIONS;
  if (vendor !== "arktype") return {};
  return ARKTYPE_OPTIONS;
}

const ARKTYPE_OPTIONS = {
  fallback: {
    default: ({ base }: { base: JsonSchema }) => base,
    date: () => DATE,
    domain: ({ domain, base }: { domain: string; base: JsonSchema }) => (domain === "bigint" ? BIGINT : base),
    defaultValue: () => undefined,
  },
};

interface ZodNode {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: { readonly type: string; readonly keyType?: StandardSchema; readonly valueType?: StandardSchema };
    };
  };
  readonly jsonSchema: JsonSchema;
}
const ZOD_OPTIONS = {
  unrepresentable: "any",
  override: ({ zodSchema, jsonSchema }: ZodNode): void => {
    const { type, keyType, valueType } = zodSchema._zod.def;
    const partOf = (part: StandardSchema | undefined): JsonSchema => (part ? describeStandard(part) : {});
    if (type === "date") Object.assign(jsonSchema, DATE);
    if (type === "bigint") Object.assign(jsonSchema, BIGINT);
    if (type === "map") Object.assign(jsonSchema, describeMap(partOf(keyType), partOf(valueType)));
    if (type === "set") Object.assign(jsonSchema, describeSet(partOf(valueType)));
    // `z.int()` means the integers of JavaScript; a model that is shown their limits believes that they matter.
    if (jsonSchema["maximum"] === Number.MAX_SAFE_INTEGER) delete jsonSchema["maximum"];
    if (jsonSchema["minimum"] === Number.MIN_SAFE_INTEGER) delete jsonSchema["minimum"];
  },
};

/** Zod 4.0, 4.1 and Zod Mini, whose schemas do not describe themselves. */
function describeZod4(source: StandardSchema): Record<string, unknown> {
  interface ZodCore {
    toJSONSchema(schema: unknown, options: Record<string, unknown>): Record<string, unknown>;
    globalRegistry: { get(schema: unknown): unknown };
  }
  const { toJSONSchema, globalRegistry } = loadPackage<ZodCore>("zod/v4/core", "Describing a Zod 4 schema");
  // Descriptions are stored in the registry of the Zod copy that created the schema. Only the schema can reach it.
  const metadata = {
    get: (schema: { meta?: () => unknown }) => schema.meta?.() ?? globalRegistry.get(schema),
  };
  return toJSONSchema(source, { ...ZOD_OPTIONS, target: TARGET, io: "input", metadata });
}

function describeZod3(source: StandardSchema): Record<string, unknown> {
  interface ZodToJsonSchema {
    zodToJsonSchema(schema: unknown, options: Record<string, unknown>): Record<string, unknown>;
    ignoreOverride: symbol;
  }
  const { zodToJsonSchema, ignoreOverride } = loadPackage<ZodToJsonSchema>(
    "zod-to-json-schema",
    "Describing a Zod 3 schema",
  );
  const described = zodToJsonSchema(source, {
    pipeStrategy: "input",
    effectStrategy: "input",
    override: ({ typeName }: { typeName: string }) =>
      typeName === "ZodDate" ? DATE : typeName === "ZodBigInt" ? BIGINT : ignoreOverride,
  });
  tuplesToPrefixItems(described);
  return described;
}

/** The converter writes draft 07, in which a list in `items` is a tuple. */
function tuplesToPrefixItems(schema: JsonSchema): void {
  eachSubschema(schema, (sub) => {
    if (isObject(sub)) tuplesToPrefixItems(sub);
  });
  if (!Array.isArray(schema["items"])) return;
  const { items, additionalItems } = schema;
  delete schema["items"];
  delete schema["additionalItems"];
  schema["prefixItems"] = items;
  if (additionalItems !== undefined) schema["items"] = additionalItems;
}

function describeValibot(source: StandardSchema): Record<string, unknown> {
  interface ValibotToJsonSchema {
    toJsonSchema(schema: unknown, options: Record<string, unknown>): Record<string, unknown>;
  }
  const { toJsonSchema } = loadPackage<ValibotToJsonSchema>("@valibot/to-json-schema", "Describing a Valibot schema");
  return toJsonSchema(source, {
    target: TARGET,
    typeMode: "input",
    errorMode: "ignore",
    overrideSchema: ({ valibotSchema }: { valibotSchema: { type: string } }) => {
      if (valibotSchema.type === "date") return DATE;
      return valibotSchema.type === "bigint" ? BIGINT : undefined;
    },
  });
}
