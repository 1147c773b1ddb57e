// The reference of the HTTP API as Markdown, from its OpenAPI document.
import { SOCKET_PATH } from "../../src/contracts/socket.ts";

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly additionalProperties?: boolean | JsonSchema;
}

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly { bearer?: readonly string[] }[];
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema: JsonSchema;
  }[];
  readonly requestBody?: { content: Readonly<Record<string, { schema: JsonSchema }>> };
  readonly responses: Readonly<
    Record<string, { description: string; content: Readonly<Record<string, { schema: JsonSchema }>> }>
  >;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const INTRODUCTION = `# HTTP API reference

Generated from the OpenAPI document, which a server sends at \`GET /api/openapi.json\`. The [guide](guides/http-api.md) shows how to use it.

Bodies are JSON. Times are Unix milliseconds. In an address, the values of a list are separated by commas. A status of 400 or more
has an [\`ErrorAnswer\`](#erroranswer). Messages of the WebSocket \`${SOCKET_PATH}\` are [\`SocketRequest\`](#socketrequest) and
[\`EventMessage\`](#eventmessage).
`;

export function formatReference({ paths, components }: ApiDocument, comments: ReadonlyMap<string, string>): string {
  const groups = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const group = `/api/${operation.tags[0]}`;
      groups.set(group, [...(groups.get(group) ?? []), formatOperation(`${method.toUpperCase()} ${path}`, operation)]);
    }
  }
  return [
    INTRODUCTION,
    ...Array.from(groups, ([group, operations]) => [`## ${group}\n`, ...operations].join("\n")),
    "## Shapes\n",
    ...Object.entries(components.schemas)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, schema]) => formatShape(name, schema, comments)),
  ].join("\n");
}

function formatOperation(route: string, operation: Operation): string {
  const { summary, security, parameters = [], requestBody, responses } = operation;
  const scopes = security[0]?.bearer;
  const access = scopes === undefined ? "no token" : scopes.length > 0 ? `scope \`${scopes[0]}\`` : "any token";
  const lines = [`### ${route}\n`, `${summary}. Needs ${access}.\n`];
  const query = parameters.filter((each) => each.in === "query");
  if (query.length > 0) {
    lines.push("| query | type | |", "| --- | --- | --- |");
    for (const { name, required, schema, description = "" } of query) {
      lines.push(`| \`${name}\`${required ? "" : "?"} | ${cell(typeOf(schema))} | ${cell(description)} |`);
    }
    lines.push("");
  }
  for (const { schema } of Object.values(requestBody?.content ?? {})) lines.push(`- Body: ${typeOf(schema)}`);
  for (const [status, { description, content }] of Object.entries(responses)) {
    if (status === "default") continue;
    const answers = Object.entries(content).map(([media, { schema }]) =>
      media === "application/json" ? typeOf(schema) : `${description} (\`${media}\`)`,
    );
    lines.push(`- ${status}: ${answers.join(", or ")}`);
  }
  return `${lines.join("\n")}\n`;
}

function formatShape(name: string, schema: JsonSchema, comments: ReadonlyMap<string, string>): string {
  const lines = [`### ${name}\n`];
  const comment = comments.get(name) ?? schema.description;
  if (comment) lines.push(`${escapeText(comment)}\n`);
  const variants = schema.oneOf ?? schema.anyOf;
  const shared = variants ? sharedFields(variants) : schema.properties;
  if (shared && Object.keys(shared).length > 0) {
    lines.push("| field | type | |", "| --- | --- | --- |");
    for (const [field, described] of Object.entries(shared)) {
      const isRequired = (variants ?? [schema]).every((each) => each.required?.includes(field));
      const text = comments.get(`${name}.${field}`) ?? described.description ?? "";
      lines.push(`| \`${field}\`${isRequired ? "" : "?"} | ${cell(typeOf(described))} | ${cell(text)} |`);
    }
    lines.push("");
  }
  if (variants) {
    const isOpen = variants.some((each) => each.properties === undefined);
    lines.push(shared && Object.keys(shared).length > 0 ? "And one of:\n" : "One of:\n");
    for (const each of variants) lines.push(`- ${isOpen ? typeOf(each) : typeOf(withoutFields(each, shared ?? {}))}`);
    lines.push("");
  } else if (!shared) {
    lines.push(`${typeOf(schema)}\n`);
  }
  return lines.join("\n");
}

/** The fields that all variants have with the same type. */
function sharedFields(variants: readonly JsonSchema[]): Record<string, JsonSchema> {
  const [first, ...others] = variants.map(({ properties = {} }) => properties);
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([field, schema]) =>
      others.every((other) => JSON.stringify(other[field]) === JSON.stringify(schema)),
    ),
  );
}

function withoutFields(schema: JsonSchema, fields: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).filter(([field]) => !Object.hasOwn(fields, field));
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** As Markdown: names of shapes are links if the whole type, or a part of a union, is one. */
function typeOf(schema: JsonSchema): string {
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts && parts.every((part) => nameOf(part))) return parts.map(typeOf).join(" or ");
  const name = nameOf(schema) ?? (schema.type === "array" ? nameOf(schema.items ?? {}) : undefined);
  const code = `\`${codeOf(schema)}\``;
  return name ? `[${code}](#${name.toLowerCase()})` : code;
}

function nameOf({ $ref }: JsonSchema): string | undefined {
  return $ref?.split("/").at(-1);
}

/** In the notation of TypeScript. */
function codeOf(schema: JsonSchema): string {
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts) return [...new Set(parts.map(codeOf))].join(" | ");
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") {
    const item = codeOf(schema.items ?? {});
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === "object") return objectCode(schema);
  return schema.type ?? "unknown";
}

function objectCode({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const fields = Object.entries(properties).map(
    ([field, schema]) => `${field}${required.includes(field) ? "" : "?"}: ${codeOf(schema)}`,
  );
  if (fields.length > 0) return `{ ${fields.join(", ")} }`;
  return typeof additionalProperties === "object" ? `Record<string, ${codeOf(additionalProperties)}>` : "object";
}

function cell(text: string): string {
  return escapeText(text).replaceAll("|", String.raw`\|`);
}

/** Angle brackets outside of code would be tags. */
function escapeText(text: string): string {
  return text.replaceAll(/(`[^`]*`)|</g, (all, code: string | undefined) => code ?? `\\${all}`);
}
