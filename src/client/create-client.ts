import type * as wire from "../http/wire.ts";
import { type Asked, type ClientOptions, connect, type Connection } from "./connection.ts";
import { followEvents, type EventOptions } from "./follow-events.ts";
import { readEventStream } from "./read-event-stream.ts";

type CallInput = Omit<wire.CallRequest, "tool" | "input" | "answer"> & { signal?: AbortSignal };
type Query = Asked["query"];

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
          ...(signal ? { signal } : {}),
        }),
      /** What happens to it as it happens; the last frame is the result. */
      stream: (tool: string, input: unknown = {}, { signal, ...more }: CallInput = {}) =>
        frames(connection, "/api/calls", {
          method: "POST",
          body: { tool, input, ...more, answer: "events" } satisfies wire.CallRequest,
          ...(signal ? { signal } : {}),
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
    mcp: {
      list: () => get<wire.Page<wire.McpServerInfo>>("/api/mcp"),
      act: (server: string, request: wire.McpActionRequest) =>
        post<wire.McpServerInfo>(at("/api/mcp", server), request),
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
    undo: {
      list: (query?: { call?: string; session?: string; limit?: number; cursor?: string }) =>
        get<wire.Page<wire.ChangeInfo>>("/api/changes", query),
      get: (id: string) => get<wire.ChangeDetail>(at("/api/changes", id)),
      run: (request: wire.UndoRequest) => post<wire.UndoOutcome>("/api/undo", request),
    },
    configuration: () => get<wire.ConfigurationInfo>("/api/configuration"),
    /** Everything that happens; connects again by itself, and goes on where it was. Ends with the signal. */
    events: (asked: EventOptions = {}) => followEvents(connection, asked),
  };
}

async function* frames(
  { open }: Connection,
  path: string,
  asked: Asked,
): AsyncGenerator<wire.CallFrame, void, undefined> {
  const { body } = await open(path, asked);
  for await (const { data } of readEventStream(body!)) yield JSON.parse(data) as wire.CallFrame;
}
