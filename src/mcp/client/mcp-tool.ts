import { ToolCategory } from "../../core/category.ts";
import { type Content, firstLine, text, textOf } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { failureOf, toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import { type AnyTool, type Preview, type TaintLabel, type ToolContext, ToolKind } from "../../core/tool.ts";
import { showHiddenCharacters, stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import type { Schema } from "../../schema/schema.ts";
import { isInterrupted } from "./connection-failures.ts";
import type { MCPCallOptions, MCPCallResult, MCPTool } from "./mcp-client.ts";
import type { ReviewState } from "./mcp-hub.ts";
import { toUsableSchema } from "./server-schemas.ts";
import { keepAnnotations, readAnnotations } from "./tool-annotations.ts";
import { exposedName, shownDefinition, type ShownDifference, shownDifference, shownText } from "./tool-definition.ts";
import type { DefinitionReview } from "./tool-pinning.ts";

/** Runs the calls of a tool: an MCPClient, or the link of a hub. */
export interface ToolCaller {
  readonly serverName: string;
  readonly trusted: boolean;
  /** The calls that the server is working on, if they are tracked. */
  readonly running?: Set<ToolContext>;
  callTool(name: string, args: unknown, options?: MCPCallOptions): Promise<MCPCallResult>;
  /** If a text shows that the sandbox refused something to the server: what, and how to allow it. */
  explainRefusal?(text: string): string | undefined;
}

interface WrapOptions {
  timeoutMs?: number;
  review?: DefinitionReview;
}

const MAX_DESCRIPTION_LENGTH = 4000;
const MAX_TITLE_LENGTH = 100;
const DEFAULT_TIMEOUT_MS = 60_000;
/** The highest limit that a server may set for its results. */
const MAX_RESULT_LENGTH = 500_000;
/** The gate enforces the time limit, so the one of the SDK is disabled. */
const NO_LIMIT_MS = 2_147_483_647;
/** Every update is an event, so they are limited to this interval. */
const PROGRESS_INTERVAL_MS = 20;

const reviews = new WeakMap<AnyTool, DefinitionReview>();

export function titleOf({ name, title, annotations }: MCPTool): string {
  return shownText(annotations?.title ?? title ?? name, MAX_TITLE_LENGTH);
}

/** The review state of an MCP tool, undefined for other tools. The policy asks if the definition is not approved. */
export function reviewStateOf(tool: AnyTool): ReviewState | undefined {
  return reviews.get(tool)?.state;
}

/** Wraps a tool of a server as a Haft tool. Throws if its name or schema cannot be used. */
export function wrapMCPTool(mcpTool: MCPTool, client: ToolCaller, options: WrapOptions = {}): AnyTool {
  const { serverName: server, trusted } = client;
  const { review, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const name = exposedName(server, mcpTool.name);
  const hints = trusted ? (mcpTool.annotations ?? {}) : {};
  const kind = kindOf(hints);
  const isRepeatable = kind === ToolKind.ReadOnly || hints.idempotentHint === true;
  const requiresApproval = kind !== ToolKind.ReadOnly || metaOf(mcpTool, "anthropic/requiresUserInteraction") === true;
  const output = mcpTool.outputSchema === undefined ? undefined : withoutChecks(toUsableSchema(mcpTool.outputSchema));
  const maxResultBytes = resultBytesOf(mcpTool);

  const tool: AnyTool = createTool({
    name,
    title: titleOf(mcpTool),
    description: shownText(
      mcpTool.description ?? `The tool ${mcpTool.name} of MCP server ${server}.`,
      MAX_DESCRIPTION_LENGTH,
    ),
    kind,
    category: ToolCategory.MCP,
    tags: ["mcp", server, ...(metaOf(mcpTool, "anthropic/alwaysLoad") === true ? ["always-load"] : [])],
    origin: { type: "mcp", server },
    parameters: toUsableSchema(mcpTool.inputSchema),
    output,
    limits: { timeoutMs, maxResultBytes },
    labels: labelsOf(hints),
    idempotent: isRepeatable,
    permission: () => (requiresApproval || (review && review.state !== "approved") ? "confirm" : "auto"),
    // A tool whose definition is not approved can be allowed only once, not always.
    rule: () => (review && review.state !== "approved" ? "" : undefined),
    preview: (input, context) => previewOf(input, context),
    run: (input, context) => run(input, context),
  });
  if (review) reviews.set(tool, review);
  keepAnnotations(tool, { ...readAnnotations(mcpTool), isTrusted: trusted });
  return tool;

  async function run(input: unknown, context: ToolContext) {
    if (review && review.state !== "approved") await review.pass(context.callId, name);
    client.running?.add(context);
    try {
      const result = await client.callTool(mcpTool.name, input, {
        signal: context.signal,
        timeoutMs: NO_LIMIT_MS,
        onProgress: progressTo(context),
        asTask: mcpTool.execution?.taskSupport === "required",
      });
      return readResult(result, client);
    } catch (error) {
      throw isInterrupted(error) && !isRepeatable ? outcomeUnknown(server, error) : error;
    } finally {
      client.running?.delete(context);
    }
  }

  async function previewOf(input: unknown, { callId }: ToolContext): Promise<Preview> {
    const title = `Run ${name}`;
    const shownInput = showHiddenCharacters(JSON.stringify(input, null, 2));
    const called = `MCP server "${server}", tool "${mcpTool.name}", with:\n${shownInput}`;
    const { text: definition, omitted, whole } = await reviewed();
    if (review) review.shown(callId);
    return {
      title,
      content: [called, definition].filter((part) => part !== "").map(text),
      omitted: omitted && `${omitted} of its definition`,
      whole: omitted && [title, "", called, whole].join("\n"),
    };
  }

  /** The definition that the approval covers, too. The question cuts what is too long, and says so. */
  async function reviewed(): Promise<Partial<ShownDifference> & { text: string }> {
    const once =
      "A yes is for this call and approves the definition; only later calls can be allowed for a session or always.";
    if (review?.state === "new")
      return {
        text: `The tool is used for the first time. ${once} Its definition:\n${shownDefinition(review.definition)}`,
      };
    if (review?.state !== "changed") return { text: "" };
    const head = `The tool is NOT the one that was approved before. ${once} The difference:\n`;
    const shown = await shownDifference(mcpTool.name, review.before ?? "{}", review.definition);
    return { text: head + shown.text, omitted: shown.omitted, whole: head + shown.whole };
  }
}

type Hints = NonNullable<MCPTool["annotations"]>;

function kindOf(hints: Hints): ToolKind {
  if (hints.readOnlyHint === true) return ToolKind.ReadOnly;
  return hints.destructiveHint === false ? ToolKind.Write : ToolKind.Execute;
}

/** Without a hint the worst is assumed: the result is untrusted, and the input may leave this machine. */
function labelsOf(hints: Hints): TaintLabel[] {
  return hints.openWorldHint === false ? [] : ["untrusted_input", "outside_effect"];
}

function metaOf(tool: MCPTool, key: string): unknown {
  return tool._meta?.[key];
}

function resultBytesOf(tool: MCPTool): number | undefined {
  const requested = metaOf(tool, "anthropic/maxResultSizeChars");
  return typeof requested === "number" && requested > 0 ? Math.min(requested, MAX_RESULT_LENGTH) : undefined;
}

/** The SDK has checked the result against the schema, so it is not checked again. */
function withoutChecks({ jsonSchema }: Schema): Schema {
  return { jsonSchema, validate: (value) => ({ value }) };
}

function progressTo({ update }: ToolContext): NonNullable<MCPCallOptions["onProgress"]> {
  let lastAt = 0;
  return ({ progress, total, message }) => {
    const now = performance.now();
    if (now - lastAt < PROGRESS_INTERVAL_MS && progress !== total) return;
    lastAt = now;
    const shownMessage = message === undefined ? undefined : shownText(message, 500);
    update({ progress: { done: progress, total, message: shownMessage } });
  };
}

function outcomeUnknown(server: string, cause: unknown) {
  const message = `The connection to MCP server "${server}" was lost during the call: its effect is unknown`;
  return toolError("unknown_outcome", message, { next: "Check the current state before you call again.", cause });
}

/** Converts a result: blocks for the model, one safe line for a person, data for a program. */
function readResult(result: MCPCallResult, client: Pick<ToolCaller, "explainRefusal">): ToolOutput {
  const { content: blocks, structuredContent, isError } = result;
  const content = blocks.map(readBlock);
  const refusal = isError ? client.explainRefusal?.(textOf(content)) : undefined;
  if (refusal !== undefined) content.push(text(refusal));
  if (content.length === 0 && structuredContent !== undefined)
    content.push(text(disarmText(JSON.stringify(structuredContent))));
  const joined = textOf(content);
  const output: ToolOutput = {
    content,
    details: structuredContent === undefined ? joined : structuredContent,
    // A person sees that something was hidden there. A terminal would interpret control codes.
    display: showHiddenCharacters(stripTerminalCodes(firstLine(rawText(blocks) ?? joined))),
  };
  if (isError)
    output.error = failureOf("failed", joined || "The tool failed without a reason.", { name: "MCPToolError" });
  return output;
}

function rawText(blocks: MCPCallResult["content"]): string | undefined {
  return blocks.find((block) => block.type === "text")?.text;
}

/** What a server writes is as foreign as a web page: it reaches the model without hidden characters and call markers. */
export function readBlock(block: MCPCallResult["content"][number]): Content {
  switch (block.type) {
    case "text":
      return { type: "text", text: disarmText(block.text) };
    case "image":
    case "audio":
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case "resource": {
      const { uri, mimeType } = block.resource;
      const body = "text" in block.resource ? { text: disarmText(block.resource.text) } : { blob: block.resource.blob };
      return { type: "resource", resource: { uri, mimeType, ...body } };
    }
    case "resource_link": {
      const { uri, name, title, description, mimeType } = block;
      return {
        type: "resource_link",
        uri: disarmText(uri),
        name: disarmText(name),
        title: title && disarmText(title),
        description: description && disarmText(description),
        mimeType,
      };
    }
    default:
      return text(disarmText(JSON.stringify(block)));
  }
}
