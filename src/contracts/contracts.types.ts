// Checked by the compiler only; nothing here runs.
import type { z } from "zod";
import type { SessionEvent } from "../models/agent/sessions.ts";
import type { SessionEntry as StoredEntry, SessionState as StoredSessionState } from "../models/agent/session-store.ts";
import type * as client from "../models/client-tools.ts";
import type { Message as AgentMessage } from "../models/agent/agent.ts";
import type * as call from "../core/call.ts";
import type * as content from "../core/content.ts";
import type * as error from "../core/error.ts";
import type * as event from "../core/events.ts";
import type * as result from "../core/result.ts";
import type * as schedule from "../core/schedule.ts";
import type * as tool from "../core/tool.ts";
import type { ParsedToolCall } from "../models/text/tool-call-parser.ts";
import type { Job, JobLogLine as StoredLogLine } from "../calls/job.ts";
import type { ServerQuestion, ServerQuestionAnswer } from "../mcp/client/elicitation.ts";
import type { McpServerStatus } from "../mcp/client/mcp-hub.ts";
import type { MessageAction } from "../tools/message/channel.ts";
import type * as basics from "./basics.ts";
import type { ChannelInfo } from "./channels.ts";
import type { Client, ClientMethod, Handlers } from "./contract.ts";
import type { ToolEvent, ToolEventType } from "./events.ts";
import type { contracts } from "./index.ts";
import type { JobDetail, JobInfo, JobLogLine, jobs } from "./jobs.ts";
import type { McpServerInfo } from "./mcp.ts";
import type { JudgedCall } from "./playground.ts";
import type { QuestionAnswerRequest, QuestionInfo } from "./questions.ts";
import type { NewScheduleRequest, ScheduleInfo, ScheduleRun, ScheduleStatus } from "./schedules.ts";
import type { Message, SessionEntry, SessionFrame, SessionState } from "./sessions.ts";
import type { ClientAnswer, ClientCall, ClientTool } from "./socket.ts";
import type { TaintLabel, ToolDescription, ToolOrigin } from "./tools.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Without `readonly`, intersections and interfaces; optional fields stay optional. */
type Plain<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? Plain<Item>[]
      : { -readonly [Key in keyof T]: Plain<T[Key]> };

/** Fails to compile unless both types have the same fields, the optional ones included. */
type Same<A, B> = Equal<Plain<A>, Plain<B>> extends true ? true : { schema: Plain<A>; core: Plain<B> };
function same<_A extends true>(): void {}

// The check itself: a schema that lacks an optional field is not the same.
same<Same<{ a: string; b?: number }, { a: string } & { readonly b?: number }>>();
// @ts-expect-error an optional field is missing
same<Same<{ a: string }, { a: string; b?: number }>>();
// @ts-expect-error a nested optional field is missing
same<Same<{ a: { b: string }[] }, { a: { b: string; c?: number }[] }>>();
// @ts-expect-error one member of the union is missing
same<Same<{ a: "x" | "y" }, { a: "x" | "y" | "z" }>>();
// @ts-expect-error required on one side only
same<Same<{ a: unknown }, { a?: unknown }>>();

// The schemas of core types.
same<Same<basics.CallMode, call.CallMode>>();
same<Same<basics.ErrorCode, error.ErrorCode>>();
same<Same<basics.Caller, call.Caller>>();
same<Same<z.infer<typeof basics.CallPolicy>, call.CallPolicy>>();
same<Same<basics.Verdict, call.Verdict>>();
same<Same<basics.Content, content.Content>>();
same<Same<basics.ToolFailure, error.ToolFailure>>();
same<Same<z.infer<typeof basics.Pending>, result.PendingResult["pending"]>>();
same<Same<basics.ToolResult, result.ToolResult>>();
same<Same<basics.Update, event.Update>>();
// The whole text is read by `approvals.preview`. A call without effects is not asked about.
same<Same<basics.Preview, Omit<tool.Preview, "whole" | "hasNoEffects">>>();
same<Same<z.infer<typeof basics.ToolKind>, tool.ToolKind>>();
same<Same<z.infer<typeof basics.ToolPermission>, tool.ToolPermission>>();
same<Same<ToolEvent, event.ToolEvent>>();
same<Same<ToolEventType, event.ToolEventType>>();
same<Same<z.infer<typeof ToolOrigin>, tool.ToolOrigin>>();
same<Same<z.infer<typeof ToolDescription>, tool.ToolDescription>>();
same<Same<z.infer<typeof TaintLabel>, tool.TaintLabel>>();
same<Same<ScheduleInfo["timing"], schedule.ScheduleTiming>>();
same<Same<ScheduleInfo["target"], schedule.ScheduleTarget>>();
same<Same<ScheduleInfo["authority"], call.CallAuthority>>();
same<Same<Omit<ScheduleInfo, "upcoming" | "lastRun" | "subject" | "risk">, Omit<schedule.Schedule, "revision">>>();
same<Same<ScheduleRun, schedule.ScheduleRun>>();
same<Same<ScheduleStatus, schedule.ScheduleStatus>>();
same<Same<Omit<NewScheduleRequest, "session" | "mode" | "policy" | "allowedPaths">, schedule.ScheduleRequest>>();

// The schemas of types in other layers.
same<
  Same<
    Omit<JobInfo, "callId" | "toolName" | "caller" | "display" | "subject" | "risk" | "waitsFor">,
    Omit<Job, "call" | "key" | "result">
  >
>();
same<Same<JobLogLine, StoredLogLine>>();
same<Same<McpServerInfo, McpServerStatus>>();
same<Same<QuestionInfo, Omit<ServerQuestion, "content">>>();
same<Same<QuestionAnswerRequest, Omit<ServerQuestionAnswer, "by" | "via">>>();
same<Same<ChannelInfo["actions"][number], MessageAction>>();
same<Same<Omit<JudgedCall, "explanation" | "problem" | "answer">, ParsedToolCall>>();
same<Same<SessionState, StoredSessionState>>();
same<Same<Message, AgentMessage>>();
same<Same<SessionEntry, StoredEntry>>();
same<Same<SessionFrame, SessionEvent>>();
same<Same<ClientTool, client.ClientTool>>();
same<Same<ClientCall, client.ClientCall>>();
same<Same<ClientAnswer, client.ClientToolResult>>();

// Clients.
declare const api: Client<typeof jobs>;
declare const all: { [R in keyof typeof contracts]: Client<(typeof contracts)[R]> };
async function useClient(signal: AbortSignal): Promise<void> {
  const page = await api.list({ state: ["failed"], limit: 5 }, { signal });
  const failed: number = page.counts.failed;
  const one: JobDetail = await api.cancel("job_1", { reason: "no longer needed" });
  await api.cancel("job_1");
  await api.retry(one.id, { signal });
  for await (const frame of api.watch(one.id, { signal })) if (frame.type === "line") void frame.line.number;
  for await (const entry of all.audit.export({ tool: "read" })) void entry.hash;
  const text: string = await all.calls.output("call_1", { offset: failed });
  await all.calls.execute({ tool: "read", input: { path: text } });
  for await (const frame of all.calls.stream({ tool: "read" })) void frame.type;
  const { callId } = await all.calls.start({ tool: "read" });
  void callId;
  await all.policy.effect({ rule: "read" });
  await all.approvals.answer("approval_1", { decision: "deny" });
  all.events.subscribe({ types: ["job_queued"] }, { onReconnect: () => undefined });

  // @ts-expect-error an unknown query parameter
  await api.list({ stat: ["failed"] });
  // @ts-expect-error an unknown state
  await api.list({ state: ["broken"] });
  // @ts-expect-error the id is missing
  await api.get();
  // @ts-expect-error only one path parameter
  await api.get("job_1", "job_2");
  // @ts-expect-error an unknown field of the body
  await api.cancel("job_1", { why: "no longer needed" });
  // @ts-expect-error the body is required
  await all.calls.execute();
  // @ts-expect-error the required query parameter is missing
  await all.policy.effect();
  // @ts-expect-error the variant is chosen by the method
  await all.calls.execute({ tool: "read", answer: "events" });
  // @ts-expect-error the old word
  await all.approvals.answer("approval_1", { decision: "decline" });
  // @ts-expect-error the old state
  await all.approvals.list({ state: "open" });
  // @ts-expect-error a stream is not a promise
  await all.jobs.watch("job_1").then(() => undefined);
  // @ts-expect-error only streams are opened again
  await api.get("job_1", { onReconnect: () => undefined });
}
void useClient;

// Handlers.
declare const job: JobDetail;
const counts = { delayed: 0, queued: 0, running: 0, completed: 0, failed: 0, denied: 0, cancelled: 0, unknown: 0 };
const handlers: Handlers<typeof jobs, { workspace: string }> = {
  list: ({ query, workspace }) => {
    const states: readonly string[] = query.state ?? [workspace];
    // @ts-expect-error an unknown query parameter
    void query.stat;
    const items: readonly JobInfo[] = states.length > 0 ? [job] : [];
    return { items, counts };
  },
  get: async ({ params, identity }) => {
    // @ts-expect-error the parameter is called id
    void params.key;
    return { ...job, id: params.id, caller: { depth: 0, user: identity.name } };
  },
  log: () => ({ items: [] }),
  watch: async function* ({ signal }) {
    if (!signal.aborted) yield { type: "job", job };
  },
  cancel: ({ body }) => ({ ...job, display: body.reason }),
  // @ts-expect-error an unknown state
  retry: () => ({ ...job, state: "broken" }),
};
void handlers;

// @ts-expect-error a handler is missing
const incomplete: Handlers<typeof jobs> = { list: () => ({ items: [], counts }) };
void incomplete;

// A state that is not counted.
const uncounted: Pick<Handlers<typeof jobs>, "list"> = {
  // @ts-expect-error "cancelled" is missing
  list: () => ({ items: [], counts: { delayed: 0, queued: 0, running: 0, completed: 0, failed: 0 } }),
};
void uncounted;

same<Equal<Parameters<ClientMethod<(typeof jobs)["get"]>>[0], string>>();
