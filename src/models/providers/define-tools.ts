import { declarationOf, type FunctionDeclaration } from "../../core/definition.ts";
import { type AnyTool, type DialectName, isTool } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { type SchemaRules, type Simplification, toPortableSchema } from "../../schema/portable-schema.ts";

/** Tools, or what `toLLMTools()` gives. */
export type ToolSource = AnyTool | FunctionDeclaration;

export interface DefineOptions {
  /** Which names a model is shown, where the tools have several. */
  dialect?: DialectName;
  /** Whether the provider should enforce the schema; as each tool wishes by default. */
  strict?: boolean;
  /** The tools' whole schemas, as they are. By default they are made to fit the provider. */
  rich?: boolean;
}

/** The real names behind those that a provider was given, by shown name; only what differs is kept. */
export interface ShownTool {
  name: string;
  parameters?: ReadonlyMap<string, string>;
}
export type ShownNames = ReadonlyMap<string, ShownTool>;

export interface ProviderTools<Definition> {
  tools: Definition[];
  /** To be passed on when calls are read. */
  names: ShownNames;
  /** What models are not shown as it was declared, by tool. */
  simplified: (Simplification & { tool: string })[];
}

export interface ShownDefinition {
  name: string;
  description: string;
  schema: JsonSchema;
  strict: boolean;
}

export interface ProviderRules {
  readonly rules: SchemaRules;
  /** Where the provider can enforce schemas. */
  readonly strictRules?: SchemaRules;
}

/** What all providers share; `write` puts one definition into the provider's own shape. */
export function defineTools<Definition>(
  sources: Iterable<ToolSource>,
  options: DefineOptions,
  provider: ProviderRules,
  write: (definition: ShownDefinition) => Definition,
): ProviderTools<Definition> {
  const declarations = Array.from(sources, (source) =>
    isTool(source) ? declarationOf(source, options.dialect) : (source as FunctionDeclaration),
  );
  const shown = shownNames(declarations.map(({ name }) => name));
  const names = new Map<string, ShownTool>();
  const simplified: ProviderTools<Definition>["simplified"] = [];
  const tools = declarations.map((declaration, at) => {
    const name = shown[at]!;
    const report = (parts: readonly Simplification[]): void => {
      for (const part of parts) simplified.push({ tool: declaration.name, ...part });
    };
    if (name !== declaration.name) {
      names.set(name, { name: declaration.name });
      report([{ path: "#", what: `the name is shown as ${name}` }]);
    }
    const { schema, strict } = schemaFor(declaration, options, provider, report);
    const renamed = renameProperties(schema, provider.rules.propertyName);
    if (renamed.parameters.size > 0) {
      names.set(name, { name: declaration.name, parameters: renamed.parameters });
      for (const [to, from] of renamed.parameters)
        report([{ path: `#/properties/${from}`, what: `is shown as ${to}` }]);
    }
    return write({ name, description: declaration.description, schema: renamed.schema, strict });
  });
  return { tools, names, simplified };
}

function schemaFor(
  { parameters, strict: wish = false }: FunctionDeclaration,
  options: DefineOptions,
  { rules, strictRules }: ProviderRules,
  report: (parts: readonly Simplification[]) => void,
): { schema: JsonSchema; strict: boolean } {
  const wanted = options.strict ?? wish;
  if (options.rich) {
    const { $schema: _dialect, ...schema } = parameters;
    return { schema, strict: wanted && strictRules !== undefined };
  }
  if (wanted && strictRules) {
    const { schema, simplified, blockers } = toPortableSchema(parameters, strictRules);
    if (blockers.length === 0) {
      report(simplified);
      return { schema, strict: true };
    }
    report([{ path: "#", what: `strict is off, because ${blockers.join(", and ")}` }]);
  }
  const { schema, simplified } = toPortableSchema(parameters, rules);
  report(simplified);
  return { schema, strict: false };
}

/** At the root only, where providers look, and where names can be put back. */
function renameProperties(
  schema: JsonSchema,
  pattern: RegExp,
): { schema: JsonSchema; parameters: ReadonlyMap<string, string> } {
  const { properties, required } = schema;
  const parameters = new Map<string, string>();
  if (!isObject(properties)) return { schema, parameters };
  const names = Object.keys(properties);
  if (names.every((name) => pattern.test(name))) return { schema, parameters };
  const shown = shownNames(names, pattern);
  const shownAs = new Map(names.map((name, at) => [name, shown[at]!]));
  for (const [name, to] of shownAs) if (name !== to) parameters.set(to, name);
  return {
    parameters,
    schema: {
      ...schema,
      properties: Object.fromEntries(names.map((name) => [shownAs.get(name), properties[name]])),
      ...(Array.isArray(required) ? { required: required.map((name) => shownAs.get(String(name)) ?? name) } : {}),
    },
  };
}

/** What every provider takes as the name of a tool. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;

/**
 * A name for each of `names`, in their order, that `pattern` accepts and that no other has. A name that is fine already
 * stays; what is made of another depends on that name alone, so that it is the same at every step of a conversation.
 */
function shownNames(names: readonly string[], pattern: RegExp = TOOL_NAME): string[] {
  const taken = new Set(names.filter((name) => pattern.test(name)));
  return names.map((name) => {
    if (pattern.test(name)) return name;
    const clean = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=[^A-Za-z_])/, "_");
    let shown = clean;
    for (let round = 0; !pattern.test(shown) || taken.has(shown); round++) {
      const ending = `_${hash(`${name}${round === 0 ? "" : round}`)}`;
      shown = clean.slice(0, MAX_LENGTH - ending.length) + ending;
    }
    taken.add(shown);
    return shown;
  });
}

/** FNV-1a: short, and the same everywhere. */
function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}
