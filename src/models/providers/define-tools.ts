import { declarationOf, type FunctionDeclaration } from "../../core/definition.ts";
import { type AnyTool, type DialectName, isTool, type ProviderOptions } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { type SchemaRules, type Simplification, toPortableSchema } from "../../schema/portable-schema.ts";

/** A tool, or a declaration from `haft.tools.definitions()`. */
export type ToolSource = AnyTool | FunctionDeclaration;

export interface DefineOptions {
  /** Which names a model sees if tools have several. */
  dialect?: DialectName;
  /** Whether the provider should enforce the schema. Default: the setting of each tool. */
  strict?: boolean;
  /** Send complete schemas. By default they are simplified to what the provider supports. */
  rich?: boolean;
}

/** The original names of a tool and its parameters (by shown name, only those that differ). */
interface OriginalNames {
  name: string;
  parameters?: ReadonlyMap<string, string>;
}

/** The original names by the tool name that the provider was given. Contains only tools whose names differ. */
export type ShownNames = ReadonlyMap<string, OriginalNames>;

/** Tools as a provider takes them. */
export interface ProviderTools<Definition> {
  /** To pass on in the request. */
  tools: Definition[];
  /** Pass these to the functions that read calls. */
  names: ShownNames;
  /** What the provider gets in a simplified form, by tool. */
  simplified: (Simplification & { tool: string })[];
}

export interface ShownDefinition {
  name: string;
  description: string;
  schema: JsonSchema;
  strict: boolean;
  /** What the tool adds to its definition, by provider. */
  providerOptions?: ProviderOptions | undefined;
}

export interface ProviderRules {
  readonly rules: SchemaRules;
  /** Set if the provider can enforce schemas. */
  readonly strictRules?: SchemaRules;
}

/** Makes the definitions for a provider. `write` converts one definition to the provider's format. */
export function defineTools<Definition>(
  sources: Iterable<ToolSource>,
  options: DefineOptions,
  provider: ProviderRules,
  write: (definition: ShownDefinition) => Definition,
): ProviderTools<Definition> {
  const given = [...sources];
  const declarations = given.map((source): FunctionDeclaration =>
    isTool(source) ? declarationOf(source, options.dialect) : source,
  );
  const shown = shownNames(declarations.map(({ name }) => name));
  const names = new Map<string, OriginalNames>();
  const simplified: ProviderTools<Definition>["simplified"] = [];
  const tools = declarations.map((declaration, at) => {
    const name = shown[at] ?? declaration.name;
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
    const source = given[at];
    const providerOptions = isTool(source) ? source.providerOptions : undefined;
    return write({ name, description: declaration.description, schema: renamed.schema, strict, providerOptions });
  });
  return { tools, names, simplified };
}

function schemaFor(
  { parameters, strict: isToolStrict = false }: FunctionDeclaration,
  options: DefineOptions,
  { rules, strictRules }: ProviderRules,
  report: (parts: readonly Simplification[]) => void,
): { schema: JsonSchema; strict: boolean } {
  const isStrict = options.strict ?? isToolStrict;
  if (options.rich) {
    const { $schema: _dialect, ...schema } = parameters;
    return { schema, strict: isStrict && strictRules !== undefined };
  }
  if (isStrict && strictRules) {
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

/** Renames at the root only: providers check only those names, and they can be restored when calls are read. */
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
  const shownAs = new Map(names.map((name, at) => [name, shown[at] ?? name]));
  for (const [name, to] of shownAs) if (name !== to) parameters.set(to, name);
  const renamed: JsonSchema = {
    ...schema,
    properties: Object.fromEntries(names.map((name) => [shownAs.get(name), properties[name]])),
  };
  if (Array.isArray(required)) renamed.required = required.map((name) => shownAs.get(String(name)) ?? name);
  return { schema: renamed, parameters };
}

/** The tool names that every provider accepts. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_NAME_LENGTH = 64;

/** A unique accepted name for each of `names`, in order. A replacement depends on the name only. */
function shownNames(names: readonly string[], pattern: RegExp = TOOL_NAME): string[] {
  const taken = new Set(names.filter((name) => pattern.test(name)));
  return names.map((name) => {
    if (pattern.test(name)) return name;
    const clean = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=[^A-Za-z_])/, "_");
    let shown = clean;
    for (let round = 0; !pattern.test(shown) || taken.has(shown); round++) {
      const ending = `_${hash(`${name}${round === 0 ? "" : round}`)}`;
      shown = clean.slice(0, MAX_NAME_LENGTH - ending.length) + ending;
    }
    taken.add(shown);
    return shown;
  });
}

/** FNV-1a: short and portable. */
function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}
