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

export const LIMITS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
];
export const PLAIN = [
  "title",
  "default",
  "format",
  "pattern",
  "minLength",
  "maxLength",
  "additionalProperties",
  ...LIMITS,
];
export const COMMON_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** What all who pass a schema on to models of many makes take: the common part. */
export const COMMON_RULES: SchemaRules = { keywords: new Set(PLAIN), references: false, propertyName: COMMON_NAME };
