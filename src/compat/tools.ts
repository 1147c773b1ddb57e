import { adopt, type ForeignTool } from "../core/adopt/adopt.ts";
import type { CallOptions } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import { createTool as makeTool, type ToolConfig, type ToolOf, viewedTool } from "../core/create-tool.ts";
import { descriptionText, type ToolCallDefinition } from "../core/definition.ts";
import { ToolValidationError } from "../core/error.ts";
import type { ToolOutput, ToolResult as Result } from "../core/result.ts";
import { signatureOf } from "../core/signature.ts";
import {
  type AnyTool,
  neverAsks,
  saysNothing,
  type ToolDescription,
  type ToolInvocation,
  ToolPermission,
} from "../core/tool.ts";
import type { SchemaSource } from "../schema/infer.ts";
import { formatIssues, type Schema } from "../schema/schema.ts";
import { type ResultView, type ToolContext, type ToolResult, viewContext, viewResult } from "./results.ts";

/** A tool as a program writes it: a name, a schema and `execute(params, context)`. */
export interface Tool {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** How it is grouped. */
  category?: string;
  /** Any schema. */
  parameters: SchemaSource;
  /** Its code. Returns a `ToolResult` or any other value. */
  execute: (params: unknown, context: ToolContext) => unknown;
}

/** A tool as the documents draw it, with all that Haft's tools have. Its `execute` returns views of results. */
export type ViewedTool<T extends AnyTool = AnyTool> = ViewedMembers<T> & T;

interface ViewedMembers<T extends AnyTool> {
  /** As `name`. */
  readonly id: string;
  /** As `title`. */
  readonly displayName: string;
  /** The whole description as text, with the fields of `ToolDescription`. */
  readonly description: string & ToolDescription;
  /** The schema. `parse(value)` returns the validated input, or throws a ToolValidationError. */
  readonly parameters: ParsingSchema<T["parameters"]>;
  /** As `parameters`. */
  readonly params: ParsingSchema<T["parameters"]>;
  /** Whether its results come later. */
  readonly async: boolean;
  /** Cannot be changed, although the type allows it. */
  readonly tags: string[];
  /** What rules match. */
  extractSignatureContent?: (params: Parameters<T["execute"]>[0]) => string;
  /** The rule that "always allow" would save. */
  abstractPermissionRule?: (params: Parameters<T["execute"]>[0]) => string;
  /** Runs it through the gate. The context is that of the call: task, user and paths. */
  execute(params: Parameters<T["execute"]>[0], context?: CallOptions): Promise<ResultView>;
  /** A validated call that has not run. Throws ToolValidationError. */
  build(params: Parameters<T["build"]>[0]): ViewedInvocation<ReturnType<T["build"]>>;
}

type ParsingSchema<S> = S & { parse(value: unknown): S extends Schema<infer Input> ? Input : unknown };

/** A built call whose `execute` returns a view of the result. */
type ViewedInvocation<I = ToolInvocation> = Omit<I, "execute"> & {
  /** Runs it through the gate. */
  execute(context?: CallOptions): Promise<ResultView>;
};

/** A tool as an interface: `registry.register` and `haft.register` take it, and `createTool` makes one. */
export interface ITool {
  /** As `name`. */
  id: string;
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** Any schema. */
  params: SchemaSource;
  /** Whether its results come later. */
  async: boolean;
  /** Its code. */
  // Each tool declares its own input.
  // oxlint-disable-next-line typescript/no-explicit-any
  execute(params: any, context?: any): unknown;
  /** Its definition for a `ToolCallContext`. */
  toCallParams(): ToolCallDefinition;
}

const asView = (result: Result): Result => viewResult(result) as unknown as Result;

/** By tool; a view is its own. */
const views = new WeakMap<AnyTool, ViewedTool>();

/** The same tool, whose `execute` returns views of results. For tools that Haft made, such as those of a workspace. */
export function viewTool(tool: AnyTool): ViewedTool {
  const known = views.get(tool);
  if (known) return known;
  const view = viewedTool(tool, { view: asView, extra: documentMembers(tool) }) as ViewedTool;
  views.set(tool, view);
  views.set(view, view);
  return view;
}

/** Makes a tool as `createTool` of "haft" does. Its code gets a plain context, and its `execute` returns views of results. */
export function createTool<const P extends SchemaSource, R, O extends SchemaSource = SchemaSource>(
  config: ToolConfig<P, O, R>,
): ViewedTool<ToolOf<P, O, R>> {
  return toCompatTool(makeTool(config)) as ViewedTool<ToolOf<P, O, R>>;
}

/** Four of the documents have no kinds: a tool that states none runs as printed there. */
export function toCompatTool(tool: AnyTool): ViewedTool {
  const permission = tool.permission === saysNothing ? neverAsks : tool.permission;
  const extra = { ...documentMembers(tool), permission };
  const view = viewedTool(tool, { view: asView, contextOf: viewContext, extra }) as ViewedTool;
  views.set(view, view);
  return view;
}

function documentMembers(tool: AnyTool): Omit<ViewedMembers<AnyTool>, "execute" | "build" | "tags"> {
  const parameters = withParse(tool);
  const { rule, description } = tool;
  const isText = description instanceof DescriptionText;
  return {
    id: tool.name,
    displayName: tool.title,
    description: (isText ? description : new DescriptionText(description)) as unknown as string & ToolDescription,
    parameters,
    params: parameters,
    async: tool.mode === "background",
    extractSignatureContent: tool.signature && ((params) => signatureText(tool, params)),
    abstractPermissionRule: rule && ((params) => rule(params) ?? ""),
  };
}

/** Two documents have a text as the description of a tool, one has an object with `short`. */
class DescriptionText extends String {
  constructor(description: ToolDescription) {
    super(descriptionText(description));
    Object.assign(this, description);
  }

  /** As every other tool is stored and sent. */
  toJSON(): ToolDescription {
    // The characters of a text are its own fields too.
    const fields = Object.entries(this).filter(([key]) => !/^\d+$/.test(key));
    return Object.fromEntries(fields) as unknown as ToolDescription;
  }
}

function withParse({ name, parameters }: AnyTool): ParsingSchema<Schema> {
  return {
    get jsonSchema() {
      return parameters.jsonSchema;
    },
    validate: (value) => parameters.validate(value),
    parse(value) {
      const validation = parameters.validate(value);
      if (validation instanceof Promise) {
        validation.catch(() => undefined);
        throw new TypeError(`The schema of "${name}" is asynchronous: call \`execute\`, which waits for it.`);
      }
      if (!validation.issues) return validation.value;
      const issues = formatIssues(validation.issues);
      throw new ToolValidationError(name, issues, issues.join("; "));
    },
  };
}

/** "" if the tool answers later: a tool in another process. */
function signatureText(tool: AnyTool, params: unknown): string {
  const signature = signatureOf(tool, params);
  if (!(signature instanceof Promise)) return signature?.text ?? "";
  signature.catch(() => undefined);
  return "";
}

/** What an `AgentTool` returns. */
export interface AgentToolResult<Details = unknown> {
  /** For the model. */
  content: Content[];
  /** For a program. */
  details?: Details;
}

/** Called with each partial result. */
export type AgentToolUpdateCallback<Details = unknown> = (partial: ToolOutput<Details>) => void;

/** A tool whose code takes the call's id, the input, a signal and a listener for updates. */
export interface AgentTool<Params = never, Details = unknown> extends Omit<
  ToolConfig<SchemaSource, SchemaSource, unknown>,
  "description" | "parameters" | "execute" | "run"
> {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** Any schema. */
  parameters: object;
  /** Its code. */
  execute(
    toolCallId: string,
    params: Params,
    signal?: AbortSignal,
    onUpdate?: AgentToolUpdateCallback<Details>,
  ): Promise<AgentToolResult<Details>>;
}

/** An `AgentTool` of any input. */
// A list holds tools of every input type.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyAgentTool = AgentTool<any, any>;

/** Makes a tool of an `AgentTool`. `haft.register` and `adopt` do so too, if they recognise it. */
export function fromAgentTool<Params, Details>(tool: AgentTool<Params, Details>): AnyTool {
  const adopted = adopt(tool as ForeignTool, { as: "agent-tool" });
  return adopted.permission === saysNothing
    ? adopt(tool as ForeignTool, { as: "agent-tool", needsApproval: false })
    : adopted;
}

/** One parameter of a `BaseTool`. */
export interface ToolParameter {
  /** Of the parameter. */
  name: string;
  /** `string`, `integer`, `number`, `boolean`, `array` or `object`. */
  type: string;
  /** For the model. */
  description: string;
  /** Default: true. */
  required?: boolean;
  /** Used if it is omitted. */
  default?: unknown;
}

/** Makes a parameter. Required, unless it says otherwise. */
export const ToolParameter: new (fields: ToolParameter) => ToolParameter = class implements ToolParameter {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly required: boolean;
  readonly default?: unknown;

  constructor({ name, type, description, required = true, default: byDefault }: ToolParameter) {
    this.name = name;
    this.type = type;
    this.description = description;
    this.required = required;
    this.default = byDefault;
  }
};

/** What a `BaseTool` is made of. Further fields are kept as `config`. */
export interface BaseToolOptions {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** Whether its calls ask a person. Default: `auto`. */
  permission?: ToolPermission;
  [setting: string]: unknown;
}

/**
 * A tool as a class with a list of parameters. `haft.register(new Search())` takes it.
 *
 * @example
 * class Search extends BaseTool {
 *   constructor() {
 *     super({ name: "web_search", description: "Searches the web." });
 *   }
 *   getParameters() {
 *     return [{ name: "query", type: "string", description: "What to search for" }];
 *   }
 *   async execute({ query }: { query: string }) {
 *     return { success: true, data: await search(query) };
 *   }
 * }
 */
export abstract class BaseTool {
  /** Of the tool. */
  readonly name: string;
  /** What it does. */
  readonly description: string;
  /** Whether its calls ask a person. */
  readonly permission: ToolPermission;
  /** Further fields that the constructor got. */
  readonly config: Readonly<Record<string, unknown>>;
  #tool: AnyTool | undefined;

  constructor({ name, description, permission = ToolPermission.AUTO, ...config }: BaseToolOptions) {
    this.name = name;
    this.description = description;
    this.permission = permission;
    this.config = config;
  }

  /** The parameters. A subclass has this method, or `get_parameters`. */
  getParameters(): ToolParameter[] {
    if (this.get_parameters === BaseTool.prototype.get_parameters) {
      throw new TypeError(`The tool "${this.name}" has no getParameters(): return the list of its parameters.`);
    }
    return this.get_parameters();
  }

  /** As `getParameters`. */
  get_parameters(): ToolParameter[] {
    return this.getParameters();
  }

  /** The tool's code. Only the gate should call it: `call` does. */
  // A subclass declares the input that its parameters describe.
  // oxlint-disable-next-line typescript/no-explicit-any
  abstract execute(params: any, context?: ToolContext): Promise<ToolResult> | ToolResult;

  /** Undefined if the parameters are valid, else the problem. By default: required and unknown ones. */
  validateParams(params: Readonly<Record<string, unknown>>): string | null | undefined {
    if (this.validate_params !== BaseTool.prototype.validate_params) return this.validate_params(params);
    return this.#findProblem(params);
  }

  /** As `validateParams`. */
  validate_params(params: Readonly<Record<string, unknown>>): string | null | undefined {
    const isOwn = this.validateParams !== BaseTool.prototype.validateParams;
    return isOwn ? this.validateParams(params) : this.#findProblem(params);
  }

  #findProblem(params: Readonly<Record<string, unknown>>): string | undefined {
    const known = this.getParameters();
    const missing = known.find(({ name, required = true }) => required && params[name] === undefined);
    if (missing) return `Missing required parameter: ${missing.name}`;
    const unknown = Object.keys(params).find((key) => !known.some(({ name }) => name === key));
    return unknown === undefined ? undefined : `Unknown parameter: ${unknown}`;
  }

  /** Validates and runs it, through the gate of the runtime that it is registered in, or of the default one. */
  async call(params: Readonly<Record<string, unknown>> = {}, options?: CallOptions): Promise<ResultView> {
    return viewResult(await BaseTool.toTool(this).execute(params, options));
  }

  /** As `call`. */
  __call__(params?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ResultView> {
    return this.call(params, options);
  }

  /** The tool that is registered for it. */
  static toTool(tool: BaseTool): AnyTool {
    return (tool.#tool ??= adopt(tool));
  }
}
