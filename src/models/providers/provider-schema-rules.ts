import { COMMON_NAME, LIMITS, PLAIN, type SchemaRules } from "../../schema/portable-schema.ts";

const STRICT_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

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

export const MISTRAL_STRICT_RULES: SchemaRules = { ...OPENAI_STRICT_RULES, references: false };

/** What all providers that enforce schemas support, for use when the provider is unknown. */
export const COMMON_STRICT_RULES: SchemaRules = {
  ...MISTRAL_STRICT_RULES,
  keywords: new Set(["title", "format"]),
};

/** Gemini supports a part of OpenAPI 3.0 and rejects requests with any other keyword. */
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
