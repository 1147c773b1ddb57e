import type { InferInput, InferOutput, SchemaSource } from "../schema/infer.ts";
import type { Update } from "./event.ts";
import type { ToolOutput, ToolResult } from "./result.ts";
import type { Signature } from "./signature.ts";
import type {
  Preview,
  TaintLabel,
  Tool,
  ToolCache,
  ToolContext,
  ToolDescription,
  ToolDialect,
  ToolKind,
  ToolLimits,
  ToolOrigin,
  ToolPermission,
} from "./tool.ts";

/** What `createTool` takes. The names in the second half are the seeds'; they are normalised once, in `createTool`. */
export interface ToolConfig<P extends SchemaSource, O extends SchemaSource, R> extends SeedNames<P, O, R> {
  name?: string;
  description: string | ToolDescription;
  title?: string;
  parameters?: P;
  output?: O;
  /** Absent means the worst case: `execute`. */
  kind?: ToolKind;
  category?: string;
  tags?: readonly string[];
  version?: string;
  aliases?: readonly string[];
  dialects?: Readonly<Record<string, ToolDialect>>;
  /** Further names of parameters, to the canonical one: `{ file_path: "path" }`. */
  parameterAliases?: Readonly<Record<string, string>>;
  mode?: "inline" | "background";
  strict?: boolean;
  limits?: ToolLimits<InferOutput<P>>;
  concurrency?: "shared" | "exclusive";
  dependsOn?: readonly string[];
  cache?: ToolCache<InferOutput<P>>;
  labels?: readonly TaintLabel[];
  /** Where not every call has all of `labels`. */
  labelsOf?(input: InferOutput<P>, result?: ToolResult): readonly TaintLabel[];
  /** Running it twice does no more than running it once; read-only tools are so by themselves. */
  idempotent?: boolean;
  origin?: ToolOrigin;
  locks?(input: InferOutput<P>): readonly string[];
  permission?: ToolPermission | ((input: InferOutput<P>) => ToolPermission);
  signature?(input: InferOutput<P>): string | Signature;
  rule?(input: InferOutput<P>): string;
  preview?(input: InferOutput<P>, context: ToolContext): Promise<Preview>;
  /** The tool's code. Returns plain data, a string or a ToolOutput; or yields updates and then returns. */
  run?(input: InferOutput<P>, context: ToolContext): R;
}

interface SeedNames<P extends SchemaSource, O extends SchemaSource, R> {
  id?: string;
  label?: string;
  displayName?: string;
  schema?: P;
  inputSchema?: P;
  params?: P;
  outputSchema?: O;
  execute?(params: InferOutput<P>, context: ToolContext): R;
  async?: boolean;
  isConcurrencySafe?: boolean;
  /** Null or nothing when the input is fine, else what is wrong with it. */
  validate?(params: InferOutput<P>): string | null | undefined | Promise<string | null | undefined>;
  extractSignatureContent?(params: InferOutput<P>): string;
  abstractPermissionRule?(params: InferOutput<P>): string;
}

/** What a tool that declares no output gives to programs, read off what its code returns. */
export type DetailsOf<R> =
  Awaited<R> extends AsyncGenerator<infer _Update, infer Out> ? DetailsOfValue<Out> : DetailsOfValue<Awaited<R>>;
type DetailsOfValue<V> = V extends ToolOutput<infer D> ? D : V;

export type ToolOf<P extends SchemaSource, O extends SchemaSource, R> = Tool<
  InferOutput<P>,
  SchemaSource extends O ? DetailsOf<R> : InferOutput<O>,
  InferInput<P>
>;

/** What a generator tool yields. */
export type ToolUpdates<Details = unknown> = AsyncGenerator<Update | string, ToolOutput<Details> | Details | string>;
