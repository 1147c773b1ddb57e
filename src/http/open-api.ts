import { z } from "zod";
import { SCOPES } from "./tokens.ts";
import type { QueryParameter, Route, RouteResponse } from "./route.ts";
import { SHAPES, type ShapeName } from "./wire-schemas.ts";

const REF = "#/components/schemas/";

/** OpenAPI 3.1, from what the routes say of themselves and the schemas that hold their bodies. Loads Zod: import it lazily. */
export function describeApi(routes: readonly Route[], { version }: { version: string }): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Haft",
      version,
      description:
        "Tools, calls, approvals and what was recorded of them. A call that fails is an answer like any other.",
    },
    paths,
    components: {
      schemas: describeShapes(),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: `A token. Its scopes are among: ${SCOPES.join(", ")}.` },
        session: { type: "apiKey", in: "cookie", name: "haft_PORT", description: "Of the console, after its login." },
      },
    },
  };
}

function operationOf({ method, path, summary, scope, query, body, answers }: Route): Record<string, unknown> {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  return {
    operationId: `${method.toLowerCase()}${path.replace(/^\/api/, "").replace(/[^a-z]+([a-z]|$)/gi, (_, first: string) => first.toUpperCase())}`,
    summary,
    tags: [path.split("/")[2]],
    ...(scope === "anybody"
      ? { security: [] }
      : { security: [{ bearer: scope === "identified" ? [] : [scope] }, { session: [] }] }),
    ...(parameters.length + query.length > 0 ? { parameters: [...parameters, ...query.map(parameterOf)] } : {}),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body) } }),
    responses: { ...responsesOf(answers), default: { description: "Refused, and why", content: json("ErrorAnswer") } },
  };
}

function parameterOf({ name, summary, type }: QueryParameter): Record<string, unknown> {
  return { name, in: "query", description: summary, schema: { type: type ?? "string" } };
}

function responsesOf(
  answers: readonly RouteResponse[],
): Record<string, { description: string; content: Record<string, unknown> }> {
  const responses: Record<string, { description: string; content: Record<string, unknown> }> = {};
  for (const { status = 200, summary = "The answer", shape, mediaType } of answers) {
    const content = shape === undefined ? { [mediaType ?? "text/plain"]: { schema: {} } } : json(shape);
    const known = responses[status];
    responses[status] = known
      ? { description: `${known.description}. ${summary}`, content: { ...known.content, ...content } }
      : { description: summary, content };
  }
  return responses;
}

function json(shape: ShapeName): Record<string, unknown> {
  return { "application/json": { schema: { $ref: `${REF}${shape}` } } };
}

function describeShapes(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SHAPES)) registry.add(schema as z.ZodType, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `${REF}${id}`, io: "input", unrepresentable: "any" });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $id: _id, $schema: _dialect, ...schema }]) => [id, schema]),
  );
}
