/** Schemas of the data types in `core/` that several resources use. `contracts.types.ts` checks that both are equal. */
import { z } from "zod";
import { UNVOUCHED_KINDS } from "../core/call-summary.ts";
import { ERROR_CODES, type ErrorCode } from "../core/results/error-codes.ts";
import { named, namedObject, objects } from "./contract.ts";

export const Name = z.string().min(1).max(256);
/** A text that a person writes. */
export const Text = z.string().max(10_000);
/** Unix milliseconds. */
export const Time = z.number().int();
export const Count = z.number().int().min(0);
/** A JSON object of any shape, such as a JSON Schema. */
export const JsonObject = z.record(z.string(), z.unknown());

/** Further fields are accepted and kept; the type names only the known ones. */
function open<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/** A list. `next` is the cursor of the following page; the last page has none. `total`: items of all pages, if they are counted. */
export function page<Item extends z.ZodType>(id: string, item: Item) {
  const [next, total] = [z.string().optional(), z.number().int().optional()];
  return namedObject(id, { items: z.array(item), next, total });
}
export interface Page<Item> {
  items: Item[];
  next?: string;
  total?: number;
}

/** Query parameters of lists. */
export const limit = z.number().int().min(1).max(500).optional().describe("Max number of items, up to 500");
export const cursor = z.string().optional().describe("`next` of the previous page");

export const CallMode = z.enum(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]);
export type CallMode = z.infer<typeof CallMode>;
export const Decision = z.enum(["allow", "ask", "deny"]);
export const ToolKind = z.enum(["readonly", "write", "execute"]);
export const ToolPermission = z.enum(["auto", "confirm"]);

export type { ErrorCode };
export const CallErrorCode = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

export const Caller = z.strictObject({
  session: z.string().optional(),
  agent: z.string().optional(),
  user: z.string().optional(),
  task: z.string().optional(),
  /** 0 for an agent that a person talks to, 1 for its subagents, and so on. */
  depth: z.number(),
  model: z.string().optional(),
  sandboxed: z.boolean().optional(),
  /** The caller that started this one. */
  get parent() {
    return Caller.optional();
  },
});
// Apart: inside of a generic call, the type of `parent` depends on which file the compiler reads first.
named("Caller", Caller);
export type Caller = z.infer<typeof Caller>;

export const CallPolicy = z.strictObject({
  allow: z.array(Name).max(1000).optional(),
  deny: z.array(Name).max(1000).optional(),
});

/** What was decided about one call, and by what. */
export const Verdict = namedObject("Verdict", {
  decision: Decision,
  by: z.enum([
    "rule",
    "tool",
    "mode",
    "hook",
    "provenance",
    "taint",
    "grant",
    "approval",
    "policy",
    "effects",
    "limit",
  ]),
  /** One sentence for a person. */
  reason: z.string(),
  /** The key of `reason` and its values, for other languages. */
  key: z.string().optional(),
  values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  rule: z.string().optional(),
  /** The file or layer of the rule. */
  origin: z.string().optional(),
  approvalId: z.string().optional(),
  /** The grants that permit it. */
  grants: z.array(z.string()).readonly().optional(),
  /** The limits that it counts for, and those that it is beyond. */
  limits: z.array(z.string()).readonly().optional(),
  beyond: z.array(z.string()).readonly().optional(),
  /** The values that nobody vouches for. A yes approves each of them for this session. */
  unvouched: objects({
    /** The path of the argument; empty for the call itself. */
    argument: z.string(),
    value: z.string(),
    authority: z.enum(UNVOUCHED_KINDS),
    /** `text`: in a text of others. `unnamed`: in the user's data, but not named. `nowhere`: in no text that was read. `unread`: not all of these are still here. */
    origin: z.enum(["text", "unnamed", "nowhere", "unread"]),
    /** Where it first appeared. */
    source: z
      .strictObject({ callId: z.string(), toolName: z.string(), field: z.string(), excerpt: z.string() })
      .optional(),
  }).optional(),
  /** The start of the user's last message, beside `unvouched`. */
  userText: z.string().optional(),
});
export type Verdict = z.infer<typeof Verdict>;

/** What a model is given. Data is base64. */
export const Content = named(
  "Content",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    z.strictObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
    z.strictObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string() }),
    open({
      type: z.literal("resource"),
      resource: open({
        uri: z.string(),
        mimeType: z.string().optional(),
        text: z.string().optional(),
        blob: z.string().optional(),
      }),
    }),
    open({
      type: z.literal("resource_link"),
      uri: z.string(),
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      mimeType: z.string().optional(),
    }),
  ]),
);
export type Content = z.infer<typeof Content>;

export const ToolFailure = namedObject("ToolFailure", {
  code: CallErrorCode,
  /** What happened. */
  message: z.string(),
  /** What to do about it. */
  next: z.string().optional(),
  /** Who must act. */
  actor: z.enum(["model", "policy", "caller", "tool", "runtime"]),
  /** Whether the same call may succeed later. */
  retryable: z.boolean(),
  name: z.string(),
  data: z.unknown().optional(),
});
export type ToolFailure = z.infer<typeof ToolFailure>;

export const Pending = z.strictObject({ kind: z.enum(["job", "approval", "client", "question"]), id: z.string() });

const result = {
  callId: z.string(),
  toolName: z.string(),
  /** For the model. */
  content: z.array(Content),
  /** For a person: one line. */
  display: z.string(),
  metadata: z.looseObject({
    /** What was changed in the input before it was accepted. */
    repairs: z.array(z.string()).optional(),
    warnings: z.array(z.string()).optional(),
    /** Where the whole output is, if `content` was shortened. */
    spill: z.strictObject({ ref: z.string(), bytes: z.number() }).optional(),
    /** Parts of `content` or `details` that were left out because the result is too large. */
    truncated: z.strictObject({ reason: z.literal("result_too_large"), parts: z.array(z.string()) }).optional(),
    version: z.string().optional(),
    arm: z.string().optional(),
    /** A person's answers are in it. Others get it without them. */
    isPrivate: z.boolean().optional(),
    /** The tool chose what a model gets; `details` may have more. */
    isForModel: z.boolean().optional(),
    /** The result of an earlier call: one with the same id, or one in the tool's cache. */
    known: z.enum(["replay", "cache"]).optional(),
  }),
  startedAt: Time,
  completedAt: Time.optional(),
  /** Without the time in which the call waited for a person. */
  durationMs: z.number().optional(),
  /** For a program. */
  details: z.unknown().optional(),
};

/** The outcome of one call. A call that fails is a response with status 200, and its result says why it failed. */
export const ToolResult = named(
  "ToolResult",
  z.discriminatedUnion("status", [
    z.strictObject({ status: z.literal("completed"), success: z.literal(true), ...result }),
    z.strictObject({ status: z.literal("failed"), success: z.literal(false), error: ToolFailure, ...result }),
    z.strictObject({ status: z.literal("pending"), pending: Pending, ...result }),
  ]),
);
export type ToolResult = z.infer<typeof ToolResult>;

export const Progress = z.strictObject({
  done: z.number(),
  total: z.number().optional(),
  message: z.string().optional(),
});

/** A partial result of a running call. */
export const Update = namedObject("Update", {
  content: z.array(Content).optional(),
  progress: Progress.optional(),
  details: z.unknown().optional(),
});
export type Update = z.infer<typeof Update>;

/** A sentence for people. Interfaces translate it by its key and values; `text` is English. */
export const LocalizedText = namedObject("LocalizedText", {
  key: z.string(),
  values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  text: z.string(),
});
export type LocalizedText = z.infer<typeof LocalizedText>;

/** What an approver is shown: the diff, the exact command. */
export const Preview = namedObject("Preview", {
  title: z.string(),
  /** What else a person should know, one line each. */
  facts: z.array(LocalizedText).optional(),
  /** The effect: the list of changes, the differences. */
  content: z.array(Content),
  /** What a command printed while it was previewed. Text of others; it may look like anything. */
  output: z.string().optional(),
  /** Of the whole effect, also of what is not shown. */
  counts: z.strictObject({ files: Count, added: Count, removed: Count }).optional(),
  /** The same replacement on many lines. Also in the difference. */
  replacements: objects({ before: z.string(), after: z.string(), lines: Count }).optional(),
  /** What `content` and `output` leave out. `approvals.preview` has it. */
  omitted: z.string().optional(),
  /** Why the effect cannot be shown at all. */
  unshown: z.string().optional(),
});
export type Preview = z.infer<typeof Preview>;

/** What a call is about, in one line: the command, the path, the host, the amount. */
export const CallSubject = z.strictObject({
  type: z.enum(["command", "path", "url", "amount", "text"]),
  text: z.string(),
});
export type CallSubject = z.infer<typeof CallSubject>;

export const RiskLevel = z.enum(["low", "medium", "high", "critical"]);
export type RiskLevel = z.infer<typeof RiskLevel>;

export const Risk = namedObject("Risk", { level: RiskLevel, reasons: z.array(LocalizedText) });
export type Risk = z.infer<typeof Risk>;

/** One part of a command line: what it does, and why it needs an approval. */
export const CommandStep = namedObject("CommandStep", {
  text: z.string(),
  /** What joins it to the step before. */
  operator: z.enum(["&&", "||", ";", "|", "&"]).optional(),
  level: RiskLevel,
  does: LocalizedText.optional(),
  asks: LocalizedText.optional(),
});
export type CommandStep = z.infer<typeof CommandStep>;

/** Figures of one tool's calls. */
export const ToolNumbers = namedObject("ToolNumbers", {
  count: Count,
  failures: Count,
  denials: Count,
  avgMs: z.number(),
  p50Ms: z.number(),
  p95Ms: z.number(),
  bytes: Count,
});
export type ToolNumbers = z.infer<typeof ToolNumbers>;
