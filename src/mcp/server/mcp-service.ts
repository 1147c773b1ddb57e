import { randomBytes } from "node:crypto";
import type { Server } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { createToolPages, ServedTools } from "./listed-tools.ts";
import { type McpCall, McpCalls } from "./mcp-call.ts";
import {
  createRequestStates,
  createTaskIds,
  MIN_KEY_BYTES,
  type RequestStates,
  type TaskIds,
} from "./request-state.ts";
import { SpilledOutputs } from "./resources.ts";
import type {
  McpClientPeer,
  McpIdentity,
  McpJob,
  McpResourceSource,
  McpRuntime,
  McpServerOptions,
} from "./server-options.ts";

/** The shared state of all connections of one server. */
export interface McpService {
  readonly sdk: ServerSdk;
  readonly runtime: McpRuntime;
  readonly options: McpServerOptions;
  readonly clock: Clock;
  readonly tools: ServedTools;
  readonly outputs: SpilledOutputs;
  readonly sources: readonly McpResourceSource[];
  readonly states: RequestStates;
  readonly taskIds: TaskIds;
  readonly calls: McpCalls;
  /** How long a client waits for an answer or a job before it gets `pending`. */
  readonly holdMs: number;
  readonly changeListeners: Set<ChangeListener>;
  nextCallId(): string;
  /** Resolves when tools can be listed: all are there, or enough time has passed. */
  listable(): Promise<void>;
  toolsChanged(): void;
  /** A session has loaded further tools. */
  toolsLoaded(session: string): void;
  clientOf(callId: string): McpClientPeer | undefined;
  /** Called for the first call that may become a job. */
  subscribeToJobs(): void;
  close(): void;
}

export type ChangeListener = (change: Change) => void;
export type Change =
  | { of: "tools"; session?: string }
  | { of: "prompts" | "resources" }
  | { of: "resource"; uri: string };

export interface McpConnection {
  readonly identity: McpIdentity;
  /** Groups calls: by connection, or by identity if there are no connections. */
  readonly session: string;
}

/** Clients wait at least ten seconds for a server to start. */
const DEFAULT_LIST_WAIT_MS = 5000;
/** Less than the minute after which many clients cancel a request. */
const DEFAULT_HOLD_MS = 45_000;

export async function createMcpService(runtime: McpRuntime, options: McpServerOptions): Promise<McpService> {
  const sdk = await loadServerSdk();
  const { clock } = runtime.settings;
  const tools = new ServedTools(runtime, options);
  const outputs = new SpilledOutputs(runtime.calls.spill);
  const sources = [...(options.resources ?? []), createToolPages(tools), outputs];
  const calls = new McpCalls(clock, options.waiting);
  const changeListeners = new Set<ChangeListener>();
  const key = options.stateKey ?? randomBytes(MIN_KEY_BYTES);
  const prefix = `mcp_${randomBytes(9).toString("base64url")}_`;
  let count = 0;
  let listable: Promise<void> | undefined;

  let unsubscribeFromJobs: (() => void) | undefined;
  const scheduled = new Set<string>();
  /** Several equal changes in a row are reported once. */
  const notifyChange = (change: Change): void => {
    const changeKey = JSON.stringify(change);
    if (scheduled.has(changeKey)) return;
    scheduled.add(changeKey);
    queueMicrotask(() => {
      scheduled.delete(changeKey);
      for (const listener of changeListeners) listener(change);
    });
  };
  const toolsChanged = (): void => notifyChange({ of: "tools" });
  const unsubscribes = [
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
    tools,
    outputs,
    sources,
    states: createRequestStates(clock, key),
    taskIds: createTaskIds(key),
    calls,
    holdMs: options.holdMs ?? DEFAULT_HOLD_MS,
    changeListeners,
    listable: () => (listable ??= waitForTools(clock, options)),
    nextCallId: () => `${prefix}${++count}`,
    toolsChanged,
    toolsLoaded: (session) => notifyChange({ of: "tools", session }),
    clientOf: (callId) => calls.get(callId),
    subscribeToJobs() {
      unsubscribeFromJobs ??= runtime.jobs?.subscribe(onJob);
    },
    close() {
      unsubscribeFromJobs?.();
      for (const unsubscribe of unsubscribes) unsubscribe?.();
      calls.close();
    },
  };

  /** A job may ask its client before the response to its call was sent. */
  function onJob({ type, job }: { type: string; job?: McpJob }): void {
    const call = job && calls.get(job.call.callId);
    if (!call) return;
    if (type !== "ended") call.becomeTask(job.id);
    else if (call.state.is === "task") calls.release(call);
  }

  /** If the gate does not wait, the call returns `pending` with the approval, and no notification is needed. */
  async function notifyIfWaiting(call: McpCall<unknown>, approvalId: string): Promise<void> {
    const question = await runtime.approvals.get(approvalId).catch(() => undefined);
    if (question?.waitsUntil !== undefined && question.state === "pending") call.waitForAnswer(approvalId);
  }
}

async function waitForTools(
  clock: Clock,
  { ready, listWaitMs = DEFAULT_LIST_WAIT_MS }: McpServerOptions,
): Promise<void> {
  if (!ready) return;
  await new Promise<void>((resolve) => {
    const timer = clock.after(listWaitMs, resolve);
    void ready()
      .catch(() => undefined)
      .then(() => (timer.cancel(), resolve()));
  });
}

/** Notifies the client of one server instance of changes until it is closed. Without `watched`, of all resources. */
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

export type ServerSdk = typeof import("./sdk.ts");

let loaded: Promise<ServerSdk> | undefined;

/** Loaded for the first client, because many programs serve none. */
export function loadServerSdk(): Promise<ServerSdk> {
  return (loaded ??= import("./sdk.ts"));
}
