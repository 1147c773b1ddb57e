import { type Call, toolOf } from "../core/call.ts";
import { type Content, firstLine, isContentList, text, textOf } from "../core/content.ts";
import { errorMessage, failureOf, failureText, type ToolFailure } from "../core/error.ts";
import { type CompletedResult, failed, type ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject } from "../schema/json-schema.ts";
import { readOutput } from "./tool-output.ts";

/** The result with what the tool shows to models. Its details stay as they are. */
export function showToModel(call: Call, result: CompletedResult): MaybePromise<ToolResult> {
  const tool = toolOf(call);
  if (!tool.toModelOutput) return result;
  const apply = ({ content, failure }: ShownOutput): ToolResult =>
    failure
      ? { ...failed(call, failure), details: result.details }
      : {
          ...result,
          content,
          display: firstLine(textOf(content)),
          metadata: { ...result.metadata, isForModel: true },
        };
  const shown = shownOutput(tool, { toolCallId: call.id, input: call.input, output: result.details });
  return shown instanceof Promise ? shown.then(apply) : apply(shown);
}

/** A failure has the output for programs only, if the tool chooses what models get. */
export function hideFromModel(call: Call, result: ToolResult): ToolResult {
  if (result.status !== "failed" || !toolOf(call).toModelOutput) return result;
  const { code, next } = result.error;
  // Its message quotes the output.
  const error =
    code === "bad_output" ? failureOf(code, "The tool ran, but its output cannot be used", { next }) : result.error;
  const shown = failureText(error);
  return { ...result, error, content: [text(shown)], display: firstLine(shown) };
}

interface ShownOutput {
  content: Content[];
  failure?: ToolFailure;
}

/** What `toModelOutput` of a tool makes of its output. */
export function shownOutput(
  tool: Pick<AnyTool, "toModelOutput">,
  of: { toolCallId: string; input: unknown; output: unknown },
): MaybePromise<ShownOutput> {
  try {
    const shown: unknown = tool.toModelOutput?.(of);
    return shown instanceof Promise ? shown.then(readShown).catch(unshown) : readShown(shown);
  } catch (thrown) {
    return unshown(thrown);
  }
}

/** Not the output itself: it may have what the model must not see. */
function unshown(thrown: unknown): ShownOutput {
  const why = errorMessage(thrown);
  return { content: [text(`The tool has done its work. Its output cannot be shown: toModelOutput failed: ${why}`)] };
}

function readShown(shown: unknown): ShownOutput {
  const { type, value } = isObject(shown) ? shown : {};
  if (type === "error-text" || type === "error-json" || type === "execution-denied") {
    const message = typeof value === "string" ? value : JSON.stringify(value ?? "The tool failed.");
    return { content: [text(message)], failure: failureOf("failed", message) };
  }
  if (type === "content" && Array.isArray(value)) return readBlocks(value.map(readPart));
  if (isContentList([shown])) return readBlocks([shown as Content]);
  const given = typeof type === "string" && "value" in Object(shown) ? value : shown;
  return isContentList(given) && given.length > 0 ? readBlocks(given) : { content: readOutput(given, true).content };
}

/** Bounded and made plain, as those of a tool's own output. */
function readBlocks(content: readonly Content[]): ShownOutput {
  return { content: readOutput({ content }, false).content };
}

/** A part as the AI SDK writes it. */
function readPart(part: unknown): Content {
  if (isContentList([part])) return part as Content;
  const { type, text: shown, data, mediaType, url } = isObject(part) ? part : {};
  if (type === "text" && typeof shown === "string") return text(shown);
  if (typeof data === "string" && typeof mediaType === "string") {
    if (mediaType.startsWith("image/")) return { type: "image", data, mimeType: mediaType };
    if (mediaType.startsWith("audio/")) return { type: "audio", data, mimeType: mediaType };
  }
  if (typeof url === "string") return { type: "resource_link", uri: url, name: url };
  return text(JSON.stringify(part));
}
