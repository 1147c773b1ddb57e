import type { InferOutput, SchemaSource } from "../../schema/infer.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { Schema } from "../../schema/schema.ts";
import { toSchema } from "../../schema/json-schema-validator.ts";
import { isContentList, text } from "../content.ts";
import type { ToolConfig } from "../create-tool.ts";
import { checkKeys, keysOf } from "../options.ts";
import { type ToolContext, ToolKind, ToolPermission } from "../tool.ts";

/** The members of a foreign tool. */
export type Fields = Readonly<Record<string, unknown>>;

/** The configuration that a foreign tool is converted to. */
export type AdoptedConfig = ToolConfig<SchemaSource, SchemaSource, unknown>;

/** What `adopt` cannot read from the tool itself. */
export interface AdoptOptions {
  /** The system that the tool comes from. Needed only if it fits several. */
  as?: string;
  /** Its name here. Needed if the tool has none, as in the AI SDK. */
  name?: string;
  /** What it may do to the world. Default: what the tool declares, else `execute`. */
  kind?: ToolKind;
  /** Whether its calls need approval, if the tool does not say. It cannot lift what the tool itself says. */
  needsApproval?: AdoptedConfig["needsApproval"];
  /** What its results bring, and whether it sends something out, as in `createTool`. Added to what the tool says. */
  labels?: AdoptedConfig["labels"];
  /** What the framework would pass to the tool as its context. Default: the data of the host that the call has. */
  context?: unknown;
  /** Makes the calls of an MCP definition, for example `client.callTool`. */
  call?: (name: string, input: unknown, options: { signal: AbortSignal }) => unknown;
}

export const ADOPT_KEYS = keysOf<AdoptOptions>({
  as: true,
  name: true,
  kind: true,
  needsApproval: true,
  labels: true,
  context: true,
  call: true,
});

/** How the tools of one system look, and what they mean. */
export interface Convention {
  /** The name of the system, for messages. */
  title: string;
  fits(tool: Fields): boolean;
  convert(tool: Fields, options: AdoptOptions): AdoptedConfig;
}

type Callback = (...args: unknown[]) => unknown;

export function isFunction(value: unknown): value is Callback {
  return typeof value === "function";
}

/** A method of a foreign tool, bound to it. */
export function methodOf(tool: Fields, name: string): Callback {
  const method = tool[name];
  if (!isFunction(method)) throw new TypeError(`It has no function \`${name}\`.`);
  return (...args) => method.apply(tool, args);
}

export function textField(tool: Fields, name: string): string | undefined {
  const value = tool[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The fields that every system has under the same names. */
export function commonFields(
  tool: Fields,
  options: AdoptOptions,
): Pick<AdoptedConfig, "name" | "description" | "title" | "kind"> {
  const name = options.name ?? textField(tool, "name") ?? textField(tool, "id");
  return {
    name,
    description: textField(tool, "description") ?? name ?? "",
    title: textField(tool, "title"),
    kind: options.kind,
  };
}

/** Refuses unknown keys of an object that a person wrote: one of them may be a misspelt safety setting. */
export function checkForeignKeys(title: string, tool: Fields, known: readonly string[]): void {
  checkKeys(`The ${title} tool "${textField(tool, "name") ?? ""}"`, tool, new Set(known));
}

/** A setting of a system that decides per call whether a person is asked. */
export function approvalOf(setting: unknown, ask: Ask): AdoptedConfig["permission"] {
  if (setting === undefined || setting === null) return undefined;
  if (setting === false) return ToolPermission.AUTO;
  if (!isFunction(setting)) return ToolPermission.CONFIRM;
  return async (input, context) =>
    (await ask(setting, input, context?.host, context)) ? ToolPermission.CONFIRM : ToolPermission.AUTO;
}

/** Asks a function of a foreign tool about an input, with the data of the host. */
type Ask = (decide: Callback, input: unknown, host: unknown, context: unknown) => unknown;

/** As `approvalOf`, for a system that writes `false` into tools that do not say it. */
export function approvalIfStated(setting: unknown, ask: Ask): AdoptedConfig["permission"] {
  return setting === false ? undefined : approvalOf(setting, ask);
}

/** Asks if one of the settings asks: a tool may have several, and none may be lost. */
export function strictest(...settings: readonly AdoptedConfig["permission"][]): AdoptedConfig["permission"] {
  if (settings.includes(ToolPermission.CONFIRM)) return ToolPermission.CONFIRM;
  const decide = settings.filter((setting) => typeof setting === "function");
  if (decide.length === 0) return settings.find((setting) => setting !== undefined);
  return async (input, context) => {
    for (const each of decide) if ((await each(input, context)) !== ToolPermission.AUTO) return ToolPermission.CONFIRM;
    return ToolPermission.AUTO;
  };
}

/** The annotations of MCP, on a tool whose code is the program's own. */
export function kindOf(
  annotations: unknown,
  options: AdoptOptions,
): Pick<AdoptedConfig, "kind" | "permission" | "idempotent"> {
  const hints = isObject(annotations) ? annotations : {};
  const isReadOnly = hints["readOnlyHint"] === true;
  const declared = isReadOnly ? ToolKind.ReadOnly : undefined;
  return {
    kind: options.kind ?? declared,
    permission: hints["destructiveHint"] === true && !isReadOnly ? ToolPermission.CONFIRM : undefined,
    idempotent: hints["idempotentHint"] === true ? true : undefined,
  };
}

/** Validates, but passes the input on as it came: the foreign tool parses it again, and a transformed input would fail there. */
export function rawInput(source: unknown): Schema {
  const schema = toSchema((source ?? []) as SchemaSource);
  return {
    get jsonSchema() {
      return schema.jsonSchema;
    },
    validate(value) {
      const validation = schema.validate(value);
      const keep = (done: Awaited<typeof validation>): typeof done => (done.issues ? done : { value });
      return validation instanceof Promise ? validation.then(keep) : keep(validation);
    },
  };
}

/** An object schema from the schemas of its members, the "raw shape" of Zod. */
export function shapeSchema(shape: Fields): Schema<InferOutput<SchemaSource>> {
  const members = Object.entries(shape).map(([name, source]) => ({ name, schema: toSchema(source as SchemaSource) }));
  const isOptional = ({ schema }: (typeof members)[number]): boolean => {
    const validation = schema.validate(undefined);
    return !(validation instanceof Promise) && validation.issues === undefined;
  };
  return {
    get jsonSchema() {
      const required = members.filter((member) => !isOptional(member)).map(({ name }) => name);
      const properties = Object.fromEntries(members.map(({ name, schema }) => [name, schema.jsonSchema]));
      return { type: "object", properties, required, additionalProperties: false };
    },
    async validate(value) {
      if (!isObject(value)) return { issues: [{ message: "must be an object" }] };
      const known = new Set(members.map(({ name }) => name));
      const unknown = Object.keys(value).filter((name) => !known.has(name));
      const issues = unknown.map((name) => ({
        message: "is not a parameter of this tool",
        path: [name] as PropertyKey[],
      }));
      const output: Record<string, unknown> = {};
      for (const { name, schema } of members) {
        const validation = await schema.validate(value[name]);
        if (validation.issues) {
          for (const { message, path = [] } of validation.issues) {
            const inner = path.map((part) => (typeof part === "object" ? part.key : part));
            issues.push({ message, path: [name, ...inner] });
          }
        } else if (validation.value !== undefined) output[name] = validation.value;
      }
      return issues.length > 0 ? { issues } : { value: output };
    },
  };
}

/** The last value of a stream is the result; those before it are updates. */
export async function lastOf(output: unknown, context: ToolContext): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  let isFirst = true;
  for await (const value of output as AsyncIterable<unknown>) {
    if (!isFirst) report(context, last);
    last = value;
    isFirst = false;
  }
  return last;
}

/** Passes on a partial result of any shape. */
export function report(context: ToolContext, partial: unknown): void {
  if (typeof partial === "string") context.update(partial);
  else if (isObject(partial) && isContentList(partial["content"])) {
    context.update({ content: partial["content"], details: partial["details"] });
  } else context.update({ content: [text(JSON.stringify(partial) ?? "")], details: partial });
}
