import { z } from "zod";
import { type Contract, type Endpoint, namedSchemas, pathParameters } from "../contracts/contract.ts";
import { ErrorAnswer } from "../contracts/errors.ts";
import { Scope } from "../contracts/identity.ts";
import { byRoute, type Variants } from "./check-request.ts";

type Json = Record<string, unknown>;
type Response = { description: string; content: Json };

const REFERENCE = "#/components/schemas/";

/** OpenAPI 3.1 of these contracts. Named schemas become components. */
export function describeApi(
  contracts: Readonly<Record<string, Contract>>,
  { version }: { version: string },
): Record<string, unknown> {
  const components = describeComponents();
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoints of byRoute(contracts).values()) {
    const { method, path } = endpoints[0];
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(endpoints, components);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Haft",
      version,
      description: "Tools, calls, approvals and records of them. A call that fails is a result with status 200.",
    },
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: `A token. Its scopes are among: ${Scope.options.join(", ")}.`,
        },
        session: { type: "apiKey", in: "cookie", name: "haft_PORT", description: "Of the console, after its login." },
      },
    },
  };
}

function operationOf(endpoints: Variants, components: Json): Json {
  const [{ method, path, scope, query, body, variant }] = endpoints;
  const parameters: Json[] = pathParameters(path).map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  if (query) parameters.push(...Object.entries(query.shape).map(([name, field]) => parameterOf(name, field)));
  const operation: Json = {
    operationId: operationId(method, path),
    summary: endpoints.map(({ summary, variant: chosen }) => withVariant(summary, chosen)).join(". "),
    tags: [path.split("/")[2]],
    security: scope === "public" ? [] : [{ bearer: scope === "authenticated" ? [] : [scope] }, { session: [] }],
    responses: {
      ...responsesOf(endpoints),
      default: { description: "The error", content: json(schemaOf(ErrorAnswer)) },
    },
  };
  if (parameters.length > 0) operation["parameters"] = parameters;
  if (body) {
    if (variant) addVariants(endpoints, components);
    operation["requestBody"] = { required: true, content: json(schemaOf(body)) };
  }
  return operation;
}

function operationId(method: string, path: string): string {
  const words = path.replace(/^\/api/, "").replaceAll(/[^a-z]+([a-z]|$)/gi, (_, first: string) => first.toUpperCase());
  return `${method.toLowerCase()}${words}`;
}

function withVariant(summary: string, variant: Endpoint["variant"]): string {
  return variant && !variant.isDefault ? `With \`${variant.field}: ${variant.value}\`: ${summary}` : summary;
}

/** The field that selects a variant is a part of the body. Variants have one body schema, and it has a name. */
function addVariants(endpoints: Variants, components: Json): void {
  const [{ path, body, variant }] = endpoints;
  const id = body && namedSchemas.get(body)?.id;
  if (!variant || id === undefined || endpoints.some((each) => each.body !== body)) {
    throw new TypeError(`The variants of ${path} need the same named body.`);
  }
  const component = components[id] as { properties: Json };
  const values = endpoints.map((each) => each.variant?.value);
  component.properties[variant.field] = { type: "string", enum: values, default: variantDefault(endpoints) };
}

function variantDefault(endpoints: Variants): string | undefined {
  return endpoints.find(({ variant }) => variant?.isDefault)?.variant?.value;
}

function parameterOf(name: string, field: z.core.$ZodType): Json {
  const isRequired = !(field instanceof z.ZodOptional);
  const { description, ...schema } = schemaOf(field);
  const parameter: Json = { name, in: "query", description, schema };
  if (isRequired) parameter["required"] = true;
  if (schema["type"] === "array") Object.assign(parameter, { style: "form", explode: false });
  return parameter;
}

function responsesOf(endpoints: Variants): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const endpoint of endpoints) {
    const { status = 200, variant } = endpoint;
    const description = withVariant(descriptionOf(endpoint), variant);
    const content = contentOf(endpoint);
    const known = responses[status];
    responses[status] = known
      ? { description: `${known.description}. ${description}`, content: { ...known.content, ...content } }
      : { description, content };
  }
  return responses;
}

function descriptionOf({ stream, lines }: Endpoint): string {
  const frame = stream?.frame ?? lines;
  const name = (frame && namedSchemas.get(frame)?.id) ?? "JSON";
  if (stream) return `${name} as server-sent events`;
  return lines ? `${name}, one a line` : "The response";
}

function contentOf({ output, stream, text }: Endpoint): Json {
  if (output) return json(schemaOf(output));
  return { [text ?? (stream ? "text/event-stream" : "application/jsonl")]: { schema: {} } };
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

const OPTIONS = {
  io: "input",
  unrepresentable: "any",
  // Descriptions are in Zod's global registry, names in ours.
  override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }) => {
    const description = z.globalRegistry.get(zodSchema)?.description;
    if (description !== undefined) jsonSchema["description"] = description;
  },
} as const;

/** A reference if the schema has a name. */
function schemaOf(schema: z.core.$ZodType): Json {
  const id = namedSchemas.get(schema as z.ZodType)?.id;
  if (id !== undefined) return { $ref: `${REFERENCE}${id}` };
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, OPTIONS);
  return described;
}

function describeComponents(): Record<string, Json> {
  const { schemas } = z.toJSONSchema(namedSchemas, { ...OPTIONS, uri: (id) => `${REFERENCE}${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $id: _id, $schema: _dialect, ...schema }]) => [id, schema]),
  );
}
