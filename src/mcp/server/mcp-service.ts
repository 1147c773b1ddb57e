import { randomBytes } from "node:crypto";
import type { Server } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { createToolPages, McpToolCatalog } from "./listed-tools.ts";
import { type OpenRequest, SuspendedRequests } from "./open-requests.ts";
import {
  createRequestStates,
  createTaskIds,
  MIN_KEY_BYTES,
  type RequestStates,
  type TaskIds,
} from "./request-state.ts";
import { type McpResourceSource, SpilledOutputs } from "./resources.ts";
import type { McpClientPeer, McpIdentity, McpJob, McpRuntime, McpServerOptions } from "./server-options.ts";

/** What all connections of one server share. */
export interface McpService {
  readonly sdk: ServerSdk;
  readonly runtime: McpRuntime;
  readonly options: McpServerOptions;
  readonly clock: Clock;
  readonly toolCatalog: McpToolCatalog;
  readonly outputs: SpilledOutputs;
  readonly sources: readonly McpResourceSource[];
  readonly states: RequestStates;
  readonly suspended: SuspendedRequests;
  readonly taskIds: TaskIds;
  /** Calls under way that a client made, by their id; those that became jobs as long as the job runs. */
  readonly calls: Map<string, OpenRequest<unknown>>;
  /** A call that was left pending, by who made it and what it was: made again, it is the same call. */
  readonly pending: Map<string, { id: string; jobId?: string }>;
  /** Whom to tell of changes. */
  readonly changeListeners: Set<ChangeListener>;
  nextCallId(): string;
  toolsChanged(): void;
  /** For one session alone, which has found some. */
  toolsLoaded(session: string): void;
  clientOf(callId: string): McpClientPeer | undefined;
  /** From the first call on that may become a job: of others nothing must be known. */
  subscribeToJobs(): void;
  close(): void;
}

/** A connection that clients can be told something over. */
export type ChangeListener = (change: Change) => void;
export type Change =
  | { of: "tools"; session?: string }
  | { of: "prompts" | "resources" }
  | { of: "resource"; uri: string };

export interface McpConnection {
  readonly identity: McpIdentity;
  /** Whose calls belong together: of one connection where there is one, else of one identity. */
  readonly session: string;
}

export async function createMcpService(runtime: McpRuntime, options: McpServerOptions): Promise<McpService> {
  const sdk = await loadServerSdk();
  const { clock } = runtime;
  const toolCatalog = new McpToolCatalog(runtime, options);
  const outputs = new SpilledOutputs(runtime.spill);
  const sources = [...(options.resources ?? []), createToolPages(toolCatalog), outputs];
  const calls: McpService["calls"] = new Map();
  const changeListeners = new Set<ChangeListener>();
  const suspended = new SuspendedRequests(clock, options.waiting);
  const key = options.stateKey ?? randomBytes(MIN_KEY_BYTES);
  const prefix = `mcp_${randomBytes(9).toString("base64url")}_`;
  let count = 0;

  let unsubscribeFromJobs: (() => void) | undefined;
  const waiting = new Set<string>();
  /** Many changes at once are told once. */
  const notifyChange = (change: Change): void => {
    const key = JSON.stringify(change);
    if (waiting.has(key)) return;
    waiting.add(key);
    queueMicrotask(() => {
      waiting.delete(key);
      for (const listener of changeListeners) listener(change);
    });
  };
  const toolsChanged = (): void => notifyChange({ of: "tools" });
  const stops = [
    runtime.on("tool_registered", toolsChanged),
    runtime.on("tool_unregistered", toolsChanged),
    runtime.on("permission_requested", ({ callId, parentId, approvalId }) => {
      const call = calls.get(callId) ?? (parentId === undefined ? undefined : calls.get(parentId));
      if (call) void notifyIfWaiting(call, approvalId);
    }),
    options.prompts?.onChanged?.(() => notifyChange({ of: "prompts" })),
    ...sources.map((source) =>
      source.onChanged?.((uri) => notifyChange(uri === undefined ? { of: "resources" } : { of: "resource", uri })),
    ),
  ];

  return {
    sdk,
    runtime,
    options,
    clock,
    toolCatalog,
    outputs,
    sources,
    states: createRequestStates(clock, key),
    taskIds: createTaskIds(key),
    suspended,
    calls,
    pending: new Map(),
    changeListeners,
    nextCallId: () => `${prefix}${++count}`,
    toolsChanged,
    toolsLoaded: (session) => notifyChange({ of: "tools", session }),
    clientOf: (callId) => calls.get(callId),
    subscribeToJobs() {
      unsubscribeFromJobs ??= runtime.jobs?.subscribe(onJob);
    },
    close() {
      unsubscribeFromJobs?.();
      for (const stop of stops) stop?.();
      suspended.close();
    },
  };

  /** A job may ask its client before the call that made it was answered. */
  function onJob({ type, job }: { type: string; job?: McpJob }): void {
    const call = job && calls.get(job.call.callId);
    if (!call) return;
    if (type !== "ended") call.isQueued ||= call.task === undefined;
    else if (call.task) {
      call.task.end();
      calls.delete(job.call.callId);
    }
  }

  /** Where the gate does not wait, the call is answered `pending`, and says itself what was asked. */
  async function notifyIfWaiting(call: OpenRequest<unknown>, approvalId: string): Promise<void> {
    const question = await runtime.approvals.get(approvalId).catch(() => undefined);
    if (question?.waits && question.state === "pending") call.setQuestion(approvalId);
  }
}

/** Tells the client of one server instance of every change, until it is closed. Undefined: every resource is watched. */
export function forwardChanges(
  service: McpService,
  server: Server,
  { session, watched }: { session: string; watched?: ReadonlySet<string> },
): void {
  const listener: ChangeListener = (change) => {
    if (!server.transport) return;
    void send(change).catch(() => undefined);
  };
  service.changeListeners.add(listener);
  server.onclose = () => service.changeListeners.delete(listener);

  async function send(change: Change): Promise<void> {
    switch (change.of) {
      case "tools":
        if (change.session === undefined || change.session === session) await server.sendToolListChanged();
        return;
      case "prompts":
        return server.sendPromptListChanged();
      case "resources":
        return server.sendResourceListChanged();
      case "resource":
        if (!watched || watched.has(change.uri)) await server.sendResourceUpdated({ uri: change.uri });
    }
  }
}

export type ServerSdk = typeof import("@modelcontextprotocol/server");

let loaded: Promise<ServerSdk> | undefined;

/** Loaded when the first client is served: most programs that import Haft serve none. */
function loadServerSdk(): Promise<ServerSdk> {
  return (loaded ??= import("@modelcontextprotocol/server"));
}
