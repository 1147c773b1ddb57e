import { createHash } from "node:crypto";
import { type Call, toolOf, type Verdict } from "../core/call.ts";
import { definitionHash } from "../core/definition.ts";
import { canonicalJson } from "../core/json.ts";
import type { Preview } from "../core/tool.ts";
import { realRoot } from "../io/files/path-name.ts";
import type { ApprovalBinding } from "./stored-call.ts";

/** What a call would act on, besides its own input. */
export interface CallWorld {
  /** The decision to ask. If another rule decides later, the person has not seen it. */
  verdict: Verdict;
  workspace: string;
  preview: Preview | undefined;
  /** Of the preview that the person has agreed to, if this one adds nothing to it. */
  previewHash?: string;
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
    preview: world.previewHash ?? hashOf(world.preview ?? null),
    cwd: cwdOf(call.accepted, world.workspace),
    environment: hashOf(world.overlay ?? {}),
    limits: hashOf([call.caller, allowedPaths, mode, policy]),
    policy: hashOf([world.verdict.by, world.verdict.rule, ...(world.verdict.beyond ?? [])]),
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
