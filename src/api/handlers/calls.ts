import { ApiError, notFound } from "../../contracts/errors.ts";
import {
  CallFacetName,
  type CallFrame,
  type CallInfo,
  type CallRequest,
  type calls,
  type ReplayRequest,
} from "../../contracts/calls.ts";
import type { HandlerRequest, Handlers } from "../../contracts/contract.ts";
import { isAsked } from "../../calls/approval.ts";
import type { Identity } from "../../contracts/identity.ts";
import { textOf } from "../../core/content.ts";
import { hideAnswers, type ToolResult } from "../../core/result.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import type { Haft } from "../../runtime.ts";
import { type CallRunner, cancelOnDisconnect } from "./call-runner.ts";
import { FrameQueue } from "./frame-queue.ts";
import { type CallSource, type RecentCall, rowOf } from "./recent-calls.ts";

const DEFAULT_LIMIT = 100;
const MAX_CHILDREN = 500;
const MAX_OUTPUT_CHARACTERS = 1024 * 1024;

export interface CallsApiOptions {
  haft: Haft;
  runner: CallRunner;
  history: CallSource;
  /** Those of the calls whose file changes can be undone. Omitted: none can. */
  undoable?(callIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The open questions of running calls, by the ids of the calls: these wait for a person. Omitted: none. */
  openQuestions?(identity: Identity): Promise<ReadonlyMap<string, string>>;
}

const NONE: ReadonlyMap<string, string> = new Map();

export function createCallsApi({
  haft,
  runner,
  history,
  undoable,
  openQuestions,
}: CallsApiOptions): Handlers<typeof calls> {
  /** A user finds their own call, even if others used the same id. */
  const find = async (callId: string, identity: Identity): Promise<RecentCall> => {
    const call = await history.find(callId, identity.name);
    if (call) return shownTo(identity, call);
    throw unknownCall();
  };

  const describe = async (found: readonly RecentCall[], identity: Identity): Promise<CallInfo[]> => {
    const canUndo = await undoable?.(found.map(({ callId }) => callId));
    const isRunning = found.some(({ status }) => status === "running");
    const asking = (isRunning && (await openQuestions?.(identity))) || NONE;
    // The entry that asks is the last one until the call runs or ends: its question may be answered.
    const asked = found.filter(({ status }) => status === "waiting" || status === "pending");
    const ids = asked.flatMap(({ approvalId }) => approvalId ?? []);
    const answers = await Promise.all(ids.map(async (id) => haft.approvals.get(id)));
    const open = new Set(answers.flatMap((each) => (each?.state === "pending" ? each.id : [])));
    const stateOf = ({ status, approvalId, callId }: RecentCall): CallInfo["status"] => {
      if (status === "running") return asking.has(callId) ? "waiting" : status;
      if (approvalId === undefined || (status !== "waiting" && status !== "pending")) return status;
      return open.has(approvalId) ? "waiting" : "pending";
    };
    return found.map((each) => {
      const call = shownTo(identity, each);
      const questionId = call.status === "running" ? asking.get(call.callId) : undefined;
      const tool = haft.tools.registry.get(call.toolName);
      const summary = call.input === undefined ? undefined : summarizeCall(tool, call.input);
      return {
        ...rowOf(call),
        status: stateOf(call),
        questionId,
        kind: call.kind ?? tool?.kind,
        subject: call.subject ?? summary?.subject,
        risk: call.risk ?? summary?.risk.level,
        canUndo: canUndo?.has(call.callId) || undefined,
      };
    });
  };

  const execute = (request: CallRequest, client: Pick<HandlerRequest, "identity" | "signal" | "onDisconnect">) => {
    const run = runner.start(request, client.identity);
    if (!request.keepRunning) cancelOnDisconnect(run, client);
    return run.result;
  };

  const start = (request: CallRequest, identity: Identity, setHeader: (name: string, value: string) => void) => {
    const { callId } = runner.start({ ...request, keepRunning: true }, identity);
    setHeader("location", `/api/calls/${encodeURIComponent(callId)}`);
    return { callId };
  };

  const replayOf = async (callId: string, body: ReplayRequest, identity: Identity): Promise<CallRequest> => {
    const { toolName, input, caller, isMasked } = await find(callId, identity);
    // The first input is shown only to those who may read it.
    if (!("input" in body) && !identity.scopes.includes("read")) {
      throw new ApiError(
        "forbidden",
        'Repeating a call with its stored input needs the scope "read"',
        "Send the input.",
      );
    }
    if (!("input" in body) && (isMasked || input === undefined)) {
      throw new ApiError("conflict", "The record has this input without its secrets, or not at all", "Send the input.");
    }
    return { tool: toolName, input, session: caller.session, ...body };
  };

  return {
    execute: (request) => execute(request.body, request),
    stream: ({ body, identity, signal }) => runner.stream(body, identity, signal),
    start: ({ body, identity, setHeader }) => start(body, identity, setHeader),
    async list({ query: { limit = DEFAULT_LIMIT, ...query }, identity }) {
      const asking = query.status?.length ? [...((await openQuestions?.(identity)) ?? NONE).keys()] : undefined;
      const { items, next, unsearched } = await history.list({ ...query, limit, asking });
      return { items: await describe(items, identity), next, unsearched };
    },
    async facets({ query, identity }) {
      const asking = [...((await openQuestions?.(identity)) ?? NONE).keys()];
      const { counted, isPartial, isToolWhole, ...facets } = await history.facets({ ...query, asking });
      const named = CallFacetName.options.map((name) => ({
        name,
        values: facets[name],
        isPartial: isPartial && !(isToolWhole && (name === "tool" || name === "status")),
      }));
      return { counted, facets: named };
    },
    async tree({ params, identity }) {
      const tree = await history.tree(params.id, identity.name);
      if (!tree) throw unknownCall();
      return { root: tree.root, calls: await describe(tree.calls, identity), isPartial: tree.isPartial };
    },
    async get({ params, identity }) {
      const call = await find(params.id, identity);
      const { items: made } = await history.list({ parent: call.callId, caller: call.caller, limit: MAX_CHILDREN });
      const [info = rowOf(call), ...children] = await describe([call, ...made], identity);
      const { input, updates, result } = call;
      return { ...info, input, updates, result, children };
    },
    watch: async ({ params, identity, signal }) =>
      watch(haft, await find(params.id, identity), { signal, identity, find: () => find(params.id, identity) }),
    async output({ params, query: { offset = 0, limit = MAX_OUTPUT_CHARACTERS }, identity, setHeader }) {
      const { result } = await find(params.id, identity);
      if (!result) throw new ApiError("conflict", "The call has not ended", "Wait for its result.");
      // Only the reference in the result is read, never one from a client.
      const { spill } = result.metadata;
      const text = "cut" in result.metadata ? undefined : textOf(result.content);
      const whole = spill ? await haft.calls.spill.read(spill.ref) : text;
      if (whole === undefined) throw new ApiError("not_found", "The output was deleted", "Make the call again.");
      const end = Math.min(offset + limit, whole.length);
      setHeader("x-total-characters", String(whole.length));
      if (end < whole.length) setHeader("x-next-offset", String(end));
      return whole.slice(offset, end);
    },
    cancel({ params: { id: callId }, identity }) {
      if (runner.cancel(callId, identity)) return { callId };
      throw notFound("This call is not running here", "calls");
    },
    replay: async (request) => execute(await replayOf(request.params.id, request.body, request.identity), request),
    replayStream: async ({ params, body, identity, signal }) =>
      runner.stream(await replayOf(params.id, body, identity), identity, signal),
    replayStart: async ({ params, body, identity, setHeader }) =>
      start(await replayOf(params.id, body, identity), identity, setHeader),
  };
}

/** What a person answered is for them and their agent. */
function shownTo<C extends Pick<RecentCall, "caller" | "result" | "display">>({ name, scopes }: Identity, call: C): C {
  if (!call.result?.metadata.isPrivate || isAsked(call.caller, { by: name, rights: scopes })) return call;
  return { ...call, result: hideAnswers(call.result), display: undefined };
}

function unknownCall(): ApiError {
  return notFound("This call is unknown, or was deleted", "calls");
}

/** How often the record is read for the end of a call of another process. */
const LOOK_MS = 250;

interface WatchOptions {
  signal: AbortSignal;
  identity: Identity;
  find(): Promise<RecentCall>;
}

/** Joins a call that anyone made before, in this process or in another. */
function watch(haft: Haft, call: RecentCall, { signal, identity, find }: WatchOptions): AsyncIterable<CallFrame> {
  const frames = new FrameQueue<CallFrame>(signal);
  const { callId } = call;
  frames.push({ type: "started", callId });
  for (const update of call.updates) frames.push({ type: "update", update });
  const finish = (result: ToolResult): void => {
    stop();
    frames.push({ type: "result", result });
    frames.end();
  };
  const unsubscribe = haft.on("*", (event) => {
    if (!("callId" in event) || event.callId !== callId) return;
    if (event.type === "tool_call_updated") frames.push({ type: "update", update: event.update });
    else if (event.type === "permission_requested") {
      frames.push({ type: "approval", approvalId: event.approvalId, reason: event.reason });
    } else if ("result" in event && event.result)
      finish(shownTo(identity, { caller: event.caller, result: event.result }).result);
  });
  const timer = setInterval(() => {
    find().then(
      ({ result }) => result && !signal.aborted && finish(result),
      // Pruned meanwhile: the events are what is left.
      () => undefined,
    );
  }, LOOK_MS);
  let isStopped = false;
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    unsubscribe();
    clearInterval(timer);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (call.result) finish(call.result);
  return frames;
}
