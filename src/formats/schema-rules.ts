/** What one provider takes of JSON Schema. */
export interface SchemaRules {
  /** Beyond those that every provider takes. */
  readonly keywords: ReadonlySet<string>;
  /** Values of `format`; all where absent. */
  readonly formats?: ReadonlySet<string>;
  /** Whether a recursive schema may refer to its `$defs`. */
  readonly references: boolean;
  /** Every object says `additionalProperties: false`. */
  readonly closed?: boolean;
  /** Every property is required; what is optional may be null. */
  readonly allRequired?: boolean;
  readonly stringEnums?: boolean;
  readonly propertyName: RegExp;
}

/** Kept by every provider, each by a rule of its own. */
export const WRITTEN_APART: ReadonlySet<string> = new Set([
  ...["type", "description", "enum", "properties", "required", "items", "prefixItems", "anyOf", "oneOf"],
  ...["additionalProperties", "unevaluatedProperties"],
]);

/** Where a provider does not take them, a model can still be told. All other keywords say nothing to a model. */
export const SHOWN_IN_WORDS: ReadonlySet<string> = new Set([
  ...[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
  ],
  ...["minLength", "maxLength", "pattern", "format", "minProperties", "maxProperties", "default", "contentEncoding"],
]);

/** Too much for words: a call that breaks them is refused with a message that says how. */
export const CHECKED_ONLY: ReadonlySet<string> = new Set([
  ...["not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "patternProperties"],
  ...["propertyNames", "contains", "minContains", "maxContains", "contentSchema"],
]);

const LIMITS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"];
const PLAIN = ["title", "default", "format", "pattern", "minLength", "maxLength", "additionalProperties", ...LIMITS];
const STRICT_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const COMMON_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const OPENAI_RULES: SchemaRules = {
  keywords: new Set([...PLAIN, "uniqueItems", "minProperties", "maxProperties"]),
  references: true,
  propertyName: COMMON_NAME,
};

export const OPENAI_STRICT_RULES: SchemaRules = {
  keywords: new Set(["title", "format", "pattern", ...LIMITS]),
  formats: new Set(STRICT_FORMATS),
  references: true,
  closed: true,
  allRequired: true,
  propertyName: COMMON_NAME,
};

export const ANTHROPIC_RULES: SchemaRules = { ...OPENAI_RULES };

export const ANTHROPIC_STRICT_RULES: SchemaRules = {
  keywords: new Set(["title", "default", "format"]),
  formats: new Set([...STRICT_FORMATS, "uri"]),
  references: false,
  closed: true,
  propertyName: COMMON_NAME,
};

/** Providers that pass the schema on to models of many makes: the common part. */
export const COMMON_RULES: SchemaRules = { keywords: new Set(PLAIN), references: false, propertyName: COMMON_NAME };

export const MISTRAL_STRICT_RULES: SchemaRules = { ...OPENAI_STRICT_RULES, references: false };

/** What every provider that enforces schemas takes, where it is not known which one will. */
export const COMMON_STRICT_RULES: SchemaRules = {
  ...MISTRAL_STRICT_RULES,
  keywords: new Set(["title", "format"]),
};

/** Gemini knows OpenAPI 3.0, a part of it, and refuses the request over any other keyword. */
export const GEMINI_RULES: SchemaRules = {
  keywords: new Set([
    ...["title", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"],
    ...["minProperties", "maxProperties"],
  ]),
  formats: new Set(["date-time", "float", "double", "int32", "int64"]),
  references: false,
  stringEnums: true,
  propertyName: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
};
