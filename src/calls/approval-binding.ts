import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type Call, toolOf, type Verdict } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import { definitionHash } from "../core/definition.ts";
import { ToolPermissionError } from "../core/error.ts";
import { canonicalJson, MAX_CONTENT_TEXT_LENGTH, toPlainData } from "../core/json.ts";
import type { Preview } from "../core/tool.ts";
import { realRoot } from "../io/files/path-name.ts";
import type { ApprovalBinding } from "./stored-call.ts";

/** What a call would act on, besides its own input. */
export interface CallWorld {
  /** The decision to ask. If another rule decides later, the person has not seen it. */
  verdict: Verdict;
  workspace: string;
  preview: Preview | undefined;
  /** What the session has set in the environment of commands. The environment of the process is no part of it. */
  overlay?: Readonly<Record<string, string>>;
}

export function hashOf(value: unknown): string {
  return `sha256:${sha256(canonicalJson(value))}`;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function bindingOf(call: Call, world: CallWorld): ApprovalBinding {
  const { allowedPaths, mode = "default", policy } = call.options;
  return {
    tool: definitionHash(toolOf(call), sha256),
    input: hashOf(call.accepted),
    preview: hashOf(world.preview ?? null),
    cwd: cwdOf(call.accepted, world.workspace),
    environment: hashOf(world.overlay ?? {}),
    limits: hashOf([call.caller, allowedPaths, mode, policy]),
    policy: hashOf([world.verdict.by, world.verdict.rule]),
  };
}

const WORDS: Record<keyof ApprovalBinding, string> = {
  tool: "the tool's definition",
  input: "the arguments",
  preview: "what the preview shows",
  cwd: "the folder",
  environment: "the environment that the session has set",
  limits: "the caller or its limits",
  policy: "which part of the policy requires approval",
};

/** The differences, in words for a person. */
export function changesBetween(shown: ApprovalBinding | undefined, now: ApprovalBinding | undefined): string[] {
  return (
    (Object.keys(WORDS) as (keyof ApprovalBinding)[])
      // Empty in a question that an earlier version asked.
      .filter((part) => shown?.[part] !== "" && shown?.[part] !== now?.[part])
      .map((part) => WORDS[part])
  );
}

/** Parameters that name the working folder of a call. */
const CWD_PARAMETERS = ["working_directory", "cwd"];

/** With links resolved: a link that changes later makes it another folder. */
function cwdOf(input: unknown, workspace: string): string {
  const fields = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  const named = CWD_PARAMETERS.map((name) => fields[name]).find(
    (value): value is string => typeof value === "string" && value !== "",
  );
  return realRoot(named?.replaceAll("\0", "") ?? ".", workspace);
}

/** The longest text that a person is asked to read. */
export const MAX_SHOWN_BYTES = 64 * 1024;
const TAIL_CHARACTERS = 200;

/** The arguments as plain data. Arguments that cannot be shown in full are refused, never cut. */
export function showableInput(call: Call, maxBytes: number): unknown {
  const { value, faults } = toPlainData(call.accepted, MAX_CONTENT_TEXT_LENGTH);
  if (faults.length > 0) {
    throw new ToolPermissionError(
      toolOf(call).name,
      `the arguments cannot be shown to a person (${faults.slice(0, 3).join("; ")})`,
      "Give them as plain data.",
    );
  }
  const text = JSON.stringify(value, undefined, 2) ?? "";
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return value;
  throw new ToolPermissionError(
    toolOf(call).name,
    `the arguments are too long to be shown to a person in full (${bytes} bytes, at most ${maxBytes}; ` +
      `${hashOf(call.accepted)}; they end with ${JSON.stringify(text.slice(-TAIL_CHARACTERS))})`,
    "Split it into smaller calls, or ask the user for a rule that allows this call without approval.",
  );
}

/** The preview as it is shown. Unlike the arguments it may be cut; then `omitted` says so. */
export function boundPreview(preview: Preview, maxBytes: number): Preview {
  let left = maxBytes;
  let cutBytes = 0;
  const content = preview.content.map((block): Content => {
    const text = block.type === "text" ? block.text : undefined;
    const bytes = Buffer.byteLength(text ?? JSON.stringify(block));
    if (bytes <= left) {
      left -= bytes;
      return block;
    }
    const shown = text === undefined ? "" : `${text.slice(0, Math.floor(left / 4))}\n`;
    cutBytes += bytes - Buffer.byteLength(shown);
    left = 0;
    const end = text === undefined ? "" : `, and this is its end:\n${text.slice(-TAIL_CHARACTERS)}`;
    return { type: "text", text: `${shown}[cut: the whole has ${bytes} bytes, ${hashOf(block)}${end}]` };
  });
  const cut = cutBytes > 0 ? `${cutBytes} bytes of the preview` : undefined;
  const omitted = [preview.omitted, cut].filter(Boolean).join("; ") || undefined;
  const { title, facts, unshown } = preview;
  return { title: title.slice(0, 1000), facts, content, omitted, unshown };
}
