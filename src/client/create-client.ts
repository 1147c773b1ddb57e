import type * as wire from "../http/wire.ts";
import { type RequestOptions, type ClientOptions, connect, type Connection } from "./connection.ts";
import { followEvents, type EventOptions } from "./follow-events.ts";
import { type ServedTool, serveTools, type ServeToolsOptions } from "./serve-tools.ts";
import { readEventStream } from "./read-event-stream.ts";

type CallInput = Omit<wire.CallRequest, "tool" | "input" | "answer"> & { signal?: AbortSignal };
type Query = RequestOptions["query"];

export type HaftClient = ReturnType<typeof createClient>;

/** A server's API, typed. Runs in browsers and in Node. What is refused is thrown as HaftClientError. */
export function createClient(options: ClientOptions) {
  const connection = connect(options);
  const { ask, open } = connection;
  const get = <T>(path: string, query?: Query): Promise<T> => ask<T>(path, query ? { query } : {});
  const post = <T>(path: string, body: unknown): Promise<T> => ask<T>(path, { method: "POST", body });
  const at = (path: string, id: string, rest = ""): string => `${path}/${encodeURIComponent(id)}${rest}`;

  return {
    server: () => get<wire.ServerInfo>("/api/server"),
    health: () => get<wire.Health>("/api/health"),
    openApi: () => get<Record<string, unknown>>("/api/openapi.json"),
    session: {
      show: () => get<wire.SessionInfo>("/api/session"),
      /** In a browser: exchanges a one-time token for the cookie. */
      login: (token: string) => post<wire.SessionInfo>("/api/session", { token } satisfies wire.LoginRequest),
      logout: () => ask<wire.Health>("/api/session", { method: "DELETE" }),
    },
    tokens: {
      list: () => get<wire.Page<wire.TokenInfo>>("/api/tokens"),
      create: (request: wire.TokenRequest) => post<wire.NewToken>("/api/tokens", request),
      revoke: (id: string) => ask<wire.Health>(at("/api/tokens", id), { method: "DELETE" }),
    },
    tools: {
      list: (query?: { search?: string; group?: string; kind?: string }) =>
        get<wire.Page<wire.ToolInfo>>("/api/tools", query),
      get: (name: string) => get<wire.ToolInfo>(at("/api/tools", name)),
    },
    calls: {
      /** Waits for the result; a call that fails is a result too. Aborting the signal cancels it. */
      run: (tool: string, input: unknown = {}, { signal, ...more }: CallInput = {}) =>
        ask<wire.ToolResult>("/api/calls", {
          method: "POST",
          body: { tool, input, ...more } satisfies wire.CallRequest,
          signal: signal || undefined,
        }),
      /** What happens to it as it happens; the last frame is the result. */
      stream: (tool: string, input: unknown = {}, { signal, ...more }: CallInput = {}) =>
        frames(connection, "/api/calls", {
          method: "POST",
          body: { tool, input, ...more, answer: "events" } satisfies wire.CallRequest,
          signal: signal || undefined,
        }),
      /** Goes on without anybody waiting; `watch` and `get` tell how. */
      start: (tool: string, input: unknown = {}, more: Omit<CallInput, "signal"> = {}) =>
        post<wire.CallStarted>("/api/calls", { tool, input, ...more, answer: "background" } satisfies wire.CallRequest),
      list: (query?: {
        tool?: string;
        status?: string;
        session?: string;
        parent?: string;
        limit?: number;
        cursor?: string;
      }) => get<wire.Page<wire.CallInfo>>("/api/calls", query),
      get: (id: string) => get<wire.CallDetail>(at("/api/calls", id)),
      watch: (id: string, { signal }: { signal?: AbortSignal } = {}) =>
        frames(connection, at("/api/calls", id, "/updates"), signal ? { signal } : {}),
      output: async (id: string, query?: { offset?: number; limit?: number }) =>
        (await open(at("/api/calls", id, "/output"), query ? { query } : {})).text(),
      cancel: (id: string) => ask<wire.CallStarted>(at("/api/calls", id, "/cancel"), { method: "POST" }),
      replay: (id: string, request: Omit<wire.ReplayRequest, "answer"> = {}) =>
        post<wire.ToolResult>(at("/api/calls", id, "/replay"), request),
    },
    channels: {
      list: () => get<wire.Page<wire.ChannelInfo>>("/api/channels"),
      /** Sends a real message. */
      test: (name: string, request: wire.ChannelTestRequest = {}) =>
        post<wire.ToolResult>(at("/api/channels", name, "/test"), request),
    },
    mcp: {
      list: () => get<wire.Page<wire.McpServerInfo>>("/api/mcp"),
      act: (server: string, request: wire.McpActionRequest) =>
        post<wire.McpServerInfo>(at("/api/mcp", server), request),
      finishSignIn: (callback: string) =>
        post<wire.McpServerInfo>("/api/mcp", { callback } satisfies wire.McpSignInRequest),
      resources: (server: string) => get<wire.McpResourceList>(at("/api/mcp", server, "/resources")),
      /** Through the gate: it may have to ask. */
      read: (server: string, uri: string) =>
        post<wire.ToolResult>(at("/api/mcp", server, "/read"), { uri } satisfies wire.McpReadRequest),
      prompts: (server: string) => get<wire.Page<wire.McpPromptInfo>>(at("/api/mcp", server, "/prompts")),
      prompt: (server: string, request: wire.McpPromptRequest) =>
        post<wire.McpPromptText>(at("/api/mcp", server, "/prompt"), request),
    },
    questions: {
      list: (query?: { state?: wire.QuestionInfo["state"] }) =>
        get<wire.Page<wire.QuestionInfo>>("/api/questions", query),
      get: (id: string) => get<wire.QuestionInfo>(at("/api/questions", id)),
      answer: (id: string, answer: wire.QuestionAnswerRequest) =>
        post<wire.QuestionInfo>(at("/api/questions", id, "/answer"), answer),
    },
    jobs: {
      list: (query?: { state?: string; tool?: string; session?: string; limit?: number; cursor?: string }) =>
        get<wire.JobPage>("/api/jobs", query),
      get: (id: string) => get<wire.JobDetail>(at("/api/jobs", id)),
      log: (id: string, query?: { after?: number }) =>
        get<wire.Page<wire.JobLogLine>>(at("/api/jobs", id, "/log"), query),
      /** Its log, then what comes to it; the last frame is the ended job. */
      watch: (id: string, { signal }: { signal?: AbortSignal } = {}) =>
        frames<wire.JobFrame>(connection, at("/api/jobs", id, "/updates"), signal ? { signal } : {}),
      cancel: (id: string, request: wire.JobCancelRequest = {}) =>
        post<wire.JobDetail>(at("/api/jobs", id, "/cancel"), request),
      retry: (id: string) => ask<wire.JobDetail>(at("/api/jobs", id, "/retry"), { method: "POST" }),
    },
    sessions: {
      list: (query?: { state?: wire.SessionState; parent?: string; limit?: number }) =>
        get<wire.AgentSessionPage>("/api/sessions", query),
      create: (request: wire.NewAgentSessionRequest = {}) => post<wire.AgentSessionInfo>("/api/sessions", request),
      get: (key: string) => get<wire.AgentSessionDetail>(at("/api/sessions", key)),
      history: (key: string, query?: { after?: number; limit?: number }) =>
        get<wire.Page<wire.SessionEntry>>(at("/api/sessions", key, "/history"), query),
      /** With `waitMs`, waits for the answer. */
      send: (key: string, request: wire.SessionMessageRequest, { signal }: { signal?: AbortSignal } = {}) =>
        ask<wire.SessionMessageAnswer>(at("/api/sessions", key, "/messages"), {
          method: "POST",
          body: request,
          signal: signal || undefined,
        }),
      /** Its entries after one, then what it says while it says it; ends with the signal. */
      watch: (key: string, { after, signal }: { after?: number; signal?: AbortSignal } = {}) =>
        frames<wire.SessionFrame>(connection, at("/api/sessions", key, "/updates"), {
          query: { after },
          signal: signal || undefined,
        }),
      stop: (key: string) => ask<wire.SessionStopped>(at("/api/sessions", key, "/stop"), { method: "POST" }),
    },
    schedules: {
      list: () => get<wire.SchedulePage>("/api/schedules"),
      get: (id: string) => get<wire.ScheduleInfo>(at("/api/schedules", id)),
      add: (request: wire.NewScheduleRequest) => post<wire.ScheduleInfo>("/api/schedules", request),
      update: (id: string, changes: wire.ScheduleChangeRequest) =>
        post<wire.ScheduleInfo>(at("/api/schedules", id), changes),
      remove: (id: string) => ask<wire.ScheduleInfo>(at("/api/schedules", id), { method: "DELETE" }),
      pause: (id: string, isPaused: boolean) =>
        post<wire.ScheduleInfo>(at("/api/schedules", id, "/pause"), { isPaused } satisfies wire.SchedulePauseRequest),
      run: (id: string) => ask<wire.ScheduleRun>(at("/api/schedules", id, "/run"), { method: "POST" }),
      runs: (id: string, query?: { limit?: number; before?: number }) =>
        get<wire.Page<wire.ScheduleRun>>(at("/api/schedules", id, "/runs"), query),
    },
    approvals: {
      list: (query?: { state?: wire.ApprovalInfo["state"] }) =>
        get<wire.Page<wire.ApprovalInfo>>("/api/approvals", query),
      get: (id: string) => get<wire.ApprovalInfo>(at("/api/approvals", id)),
      answer: (id: string, answer: wire.ApprovalAnswerRequest) =>
        post<wire.ApprovalAnswered>(at("/api/approvals", id, "/answer"), answer),
      answerMany: (answers: wire.ApprovalBatchRequest["answers"]) =>
        post<wire.Page<wire.ApprovalBatchItem>>("/api/approvals/answers", { answers }),
    },
    policy: {
      show: () => get<wire.PolicyInfo>("/api/policy"),
      explain: (request: wire.ExplainRequest) => post<wire.Explanation>("/api/policy/explain", request),
      lint: () => get<wire.Page<wire.LintFinding>>("/api/policy/lint"),
      simulate: (request: wire.SimulateRequest) => post<wire.Simulation>("/api/policy/simulate", request),
      effect: (rule: string, decision: wire.Verdict["decision"] = "allow") =>
        get<wire.RuleEffect>("/api/policy/effect", { rule, decision }),
    },
    playground: {
      formats: () => get<wire.Page<wire.TextFormatInfo>>("/api/playground"),
      parse: (request: wire.ParseRequest) => post<wire.ParsedAnswer>("/api/playground", request),
      /** What goes back to the model for a call that was made. */
      answer: (request: wire.AnswerTextRequest) => post<wire.AnswerText>("/api/playground/answer", request),
    },
    audit: {
      search: (query?: wire.AuditQuery) => get<wire.AuditPage>("/api/audit", query),
      get: (id: string) => get<wire.AuditEntry>(at("/api/audit", id)),
      verify: (query?: { head?: string }) => get<wire.AuditCheck>("/api/audit/verify", query),
      /** As JSON lines. */
      export: async (query?: Omit<wire.AuditQuery, "limit" | "cursor">) =>
        (await open("/api/audit/export", query ? { query } : {})).body!,
    },
    statistics: (query?: { from?: number; to?: number; buckets?: number }) =>
      get<wire.StatisticsInfo>("/api/statistics", query),
    /** What each tool costs a model's context. */
    tokenReport: (query?: { from?: number; to?: number }) => get<wire.TokenReport>("/api/statistics/tokens", query),
    undo: {
      list: (query?: { call?: string; session?: string; limit?: number; cursor?: string }) =>
        get<wire.Page<wire.ChangeInfo>>("/api/changes", query),
      get: (id: string) => get<wire.ChangeDetail>(at("/api/changes", id)),
      run: (request: wire.UndoRequest) => post<wire.UndoOutcome>("/api/undo", request),
    },
    /** What agents show to their people. */
    canvas: () => get<wire.Page<wire.CanvasSurface>>("/api/canvas"),
    artifacts: {
      list: (query?: { session?: string; limit?: number; cursor?: string }) =>
        get<wire.Page<wire.ArtifactInfo>>("/api/artifacts", query),
      get: (id: string, query?: { session?: string; version?: number }) =>
        get<wire.ArtifactDetail>(at("/api/artifacts", id), query),
      versions: (id: string, query?: { session?: string }) =>
        get<wire.Page<wire.ArtifactVersionInfo>>(at("/api/artifacts", id, "/versions"), query),
      diff: (id: string, query?: { session?: string; from?: number; to?: number }) =>
        get<wire.ArtifactDiff>(at("/api/artifacts", id, "/diff"), query),
    },
    configuration: () => get<wire.ConfigurationInfo>("/api/configuration"),
    /** Brings tools that run here, over a WebSocket; connects again by itself. */
    serveTools: (tools: readonly ServedTool[], requestOptions: ServeToolsOptions = {}) =>
      serveTools(options, tools, requestOptions),
    /** Everything that happens; connects again by itself, and goes on where it was. Ends with the signal. */
    events: (requestOptions: EventOptions = {}) => followEvents(connection, requestOptions),
  };
}

async function* frames<Frame = wire.CallFrame>(
  { open }: Connection,
  path: string,
  requestOptions: RequestOptions,
): AsyncGenerator<Frame, void, undefined> {
  const { body } = await open(path, requestOptions);
  for await (const { data } of readEventStream(body!)) yield JSON.parse(data) as Frame;
}
