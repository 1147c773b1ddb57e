import { createRequire } from "node:module";
import type { PluginReference } from "../../config/plugins.ts";
import type { Clock } from "../../core/clock.ts";
import { errorMessage, toolError, type ToolError } from "../../core/error.ts";
import { onStop } from "../../core/gate.ts";
import { canonicalJson } from "../../core/json.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import { NodeProcess } from "../../io/shell/node-process.ts";
import type { SchemaIssue } from "../../schema/schema.ts";
import {
  AbortReason,
  Channel,
  type ChildMethods,
  type LoadedPlugin,
  type ParentMethods,
  type Prepared,
  type SentContext,
  type SentInput,
  type SentTool,
  sendError,
  type ToolFacts,
} from "./messages.ts";
import { type PluginVersion, ToolsDiffer } from "./plugin-version.ts";

const DEFAULT_MEMORY_MB = 512;
/** How long a plugin may take to load, and to answer a question about an input. */
const LOAD_MS = 15_000;
const ANSWER_MS = 10_000;
const END_MS = 1000;
/** A process that works may answer late on a busy machine. */
const MIN_PING_MS = 1000;
/** The pause before the third start in a row; it doubles with each. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
/** A call waits for a pause of this length; with a longer one it fails. */
const MAX_WAIT_MS = 2000;
/** How often a call that has not begun is sent to a new process. */
const MAX_ATTEMPTS = 3;

export interface PluginProcessOptions {
  clock: Clock;
  /** How long a process has to show that it still works after a call in it was stopped. */
  graceMs: number;
  /** Of the files that the process is to load. */
  version: PluginVersion;
  /** Called with each end of the process that nobody asked for. */
  warn(warning: string): void;
}

/** A call that runs in the process. */
class RemoteCall {
  readonly tool: SentTool;
  readonly context: ToolContext;
  /** When the code of the tool started. */
  begunAt: number | undefined = undefined;
  stoppedBy: ToolError | undefined = undefined;
  onStop: ((why: ToolError) => void) | undefined = undefined;
  hasNestedCalls = false;
  readonly pauses = new Map<number, () => void>();

  constructor(tool: SentTool, context: ToolContext) {
    this.tool = tool;
    this.context = context;
  }

  stop(why: ToolError): void {
    this.stoppedBy = why;
    this.onStop?.(why);
  }

  end(): void {
    this.onStop = undefined;
    for (const resume of this.pauses.values()) resume();
    this.pauses.clear();
  }

  /** By this code the gate knows that nothing has happened, if the tool listens. */
  notBegun(): ToolError {
    void this.context.signal;
    return toolError("cancelled", `${this.tool.fields.name} had not begun`);
  }
}

/** One started process. */
interface Started {
  readonly process: NodeProcess;
  readonly channel: Channel<ChildMethods, ParentMethods>;
  readonly calls: Map<number, RemoteCall>;
  /** Calls that were made and not answered: they keep our process running. */
  open: number;
  /** A newer one has taken its place: it ends after its last call. */
  isReplaced: boolean;
  /** Set by an error that no call caught. */
  stray: string | undefined;
  endedBy: string | undefined;
}

/** The tools of one plugin in a process of their own, which is started again if one of them ends it. */
export class PluginProcess {
  readonly #reference: PluginReference;
  readonly #options: PluginProcessOptions;
  readonly #loaded: LoadedPlugin;
  #started: Started | undefined;
  readonly #replaced = new Set<Started>();
  #starting: Promise<Started> | undefined = undefined;
  /** Ends in a row, without a call that was answered in between. */
  #ends = 0;
  #mayStartAt = 0;
  #isClosed = false;

  private constructor(
    reference: PluginReference,
    options: PluginProcessOptions,
    { started, loaded }: { started: Started; loaded: LoadedPlugin },
  ) {
    this.#reference = reference;
    this.#options = options;
    this.#started = started;
    this.#loaded = loaded;
  }

  /** Starts the process and loads the plugin in it. Rejects if that fails; then nothing is left running. */
  static async open(reference: PluginReference, options: PluginProcessOptions): Promise<PluginProcess> {
    const owner: { plugin?: PluginProcess } = {};
    const { started, loaded } = await start(reference, options, (ended, reason) => {
      const { plugin } = owner;
      if (plugin) plugin.#ended(ended, reason);
    });
    const plugin = new PluginProcess(reference, options, { started, loaded });
    owner.plugin = plugin;
    options.version.load = () => plugin.#replace();
    // It may have ended since.
    if (started.endedBy !== undefined) plugin.#ended(started, started.endedBy);
    return plugin;
  }

  get manifest(): LoadedPlugin["manifest"] {
    return this.#loaded.manifest;
  }

  get tools(): readonly SentTool[] {
    return this.#loaded.tools;
  }

  prepare(tool: number, input: unknown): Promise<Prepared> {
    return this.#ask("prepare", { tool, input });
  }

  facts(tool: number, input: unknown): Promise<ToolFacts> {
    return this.#ask("facts", { tool, input });
  }

  async preview(index: number, input: SentInput, context: ToolContext): Promise<Preview> {
    const tool = this.#toolAt(index);
    const body = { tool: index, ...input, context: sendContext(context) };
    return (await this.#ask("preview", body, new RemoteCall(tool, context))) as Preview;
  }

  checkOutput(tool: number, details: unknown): Promise<readonly SchemaIssue[] | undefined> {
    return this.#ask("checkOutput", { tool, details });
  }

  /** Runs the code of a tool. Rejects as the tool did; if the process ends first, with what is known of the call then. */
  async run(index: number, input: SentInput, context: ToolContext): Promise<unknown> {
    const call = new RemoteCall(this.#toolAt(index), context);
    onStop(context, (why) => call.stop(why));
    for (let attempts = 1; ; attempts++) {
      const started = await this.#ready();
      if (call.stoppedBy) throw call.notBegun();
      try {
        const value = await this.#runIn(started, call, { index, input });
        this.#ends = 0;
        return value;
      } catch (thrown) {
        if (!(thrown instanceof ProcessEnded)) {
          this.#ends = 0;
          // The gate recognises its own reason.
          throw thrown instanceof AbortReason ? (call.stoppedBy ?? thrown) : thrown;
        }
        if (call.begunAt === undefined && call.stoppedBy) throw call.notBegun();
        // The code of the tool has not run: another call ended the process.
        if (call.begunAt === undefined && attempts < MAX_ATTEMPTS) continue;
        throw this.#lost(call, thrown);
      }
    }
  }

  #toolAt(index: number): SentTool {
    const tool = this.#loaded.tools[index];
    if (!tool) throw new Error("The plugin has no such tool.");
    return tool;
  }

  async #runIn(
    started: Started,
    call: RemoteCall,
    { index, input }: { index: number; input: SentInput },
  ): Promise<unknown> {
    const { graceMs } = this.#options;
    const request = { tool: index, ...input, context: sendContext(call.context), graceMs };
    const { id, answer } = started.channel.request("run", request);
    started.calls.set(id, call);
    this.#hold(started, 1);
    call.onStop = (why) => {
      started.channel.note("abort", { run: id, why: sendError(why) });
      void this.#endIfBlocked(started);
    };
    try {
      return await answer;
    } finally {
      started.calls.delete(id);
      call.end();
      this.#hold(started, -1);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const starting = await this.#starting?.catch(() => undefined);
    const started = this.#started ?? starting;
    this.#started = undefined;
    const open = started ? [started, ...this.#replaced] : [...this.#replaced];
    await Promise.all(open.map(({ process }) => process.close(END_MS)));
  }

  /** A short question. A process that does not answer is ended, unless a running call may be the reason. */
  async #ask<Name extends "prepare" | "facts" | "preview" | "checkOutput">(
    method: Name,
    body: Parameters<ChildMethods[Name]>[0],
    call?: RemoteCall,
  ): Promise<Awaited<ReturnType<ChildMethods[Name]>>> {
    for (let attempts = 1; ; attempts++) {
      const started = await this.#ready();
      this.#hold(started, 1);
      const limit = this.#options.clock.after(ANSWER_MS, () => void this.#endIfBlocked(started));
      try {
        const { id, answer } = started.channel.request(method, body as never);
        if (call) {
          started.calls.set(id, call);
          answer.finally(() => started.calls.delete(id)).catch(() => undefined);
        }
        return (await answer) as Awaited<ReturnType<ChildMethods[Name]>>;
      } catch (thrown) {
        if (!(thrown instanceof ProcessEnded)) throw thrown;
        // A second end is not another call's fault.
        if (attempts === 2) throw this.#unavailable(`The ${this.#describe(thrown)}`, "Nothing was done.");
      } finally {
        limit.cancel();
        this.#hold(started, -1);
      }
    }
  }

  #describe({ reason }: ProcessEnded): string {
    return `process of the plugin "${this.manifest.id}" ${reason}`;
  }

  #hold(started: Started, change: 1 | -1): void {
    started.open += change;
    started.process.hold(started.open > 0);
    if (started.isReplaced) this.#endReplaced(started);
  }

  #endReplaced(started: Started): void {
    if (started.open > 0) return;
    void started.process.close(END_MS).finally(() => this.#replaced.delete(started));
  }

  /** The process that can take a call: the running one, or a new one. */
  async #ready(): Promise<Started> {
    if (this.#started) return this.#started;
    if (this.#isClosed) throw toolError("shutdown", "The runtime is shutting down");
    this.#starting ??= this.#restart().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #restart(): Promise<Started> {
    const { clock } = this.#options;
    const { id } = this.manifest;
    const waitMs = this.#mayStartAt - clock.monotonic();
    if (waitMs > MAX_WAIT_MS) {
      const seconds = Math.ceil(waitMs / 1000);
      const why = `The process of the plugin "${id}" ended ${this.#ends} times in a row`;
      throw this.#unavailable(why, `It may start again in ${seconds} s; nothing was done.`);
    }
    if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    if (needsTrust(this.#reference) && !(await this.#options.version.isCurrent())) {
      throw this.#unavailable(`The files of the plugin "${id}" changed since it was trusted`, "Start Haft again.");
    }
    try {
      return await this.#startNext();
    } catch (error) {
      this.#pause();
      throw this.#unavailable(
        `The plugin "${id}" could not be started again: ${errorMessage(error)}`,
        "Nothing was done.",
      );
    }
  }

  /** Starts a process with the files as they are now. Calls that run in the earlier one end there. */
  async #replace(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    this.#starting = this.#startNext().finally(() => (this.#starting = undefined));
    await this.#starting;
    this.#ends = 0;
  }

  async #startNext(): Promise<Started> {
    const { started, loaded } = await start(this.#reference, this.#options, (ended, reason) =>
      this.#ended(ended, reason),
    );
    if (canonicalJson(loaded) !== canonicalJson(this.#loaded)) {
      started.process.kill("has other tools than before");
      throw new ToolsDiffer("it has other tools than before. Start Haft again");
    }
    if (this.#isClosed) {
      started.process.kill("was ended");
      throw new Error("the runtime is shutting down");
    }
    const earlier = this.#started;
    this.#started = started;
    if (earlier) {
      earlier.isReplaced = true;
      this.#replaced.add(earlier);
      this.#endReplaced(earlier);
    }
    // It may have ended since.
    if (started.endedBy !== undefined) this.#ended(started, started.endedBy);
    return started;
  }

  #ended(started: Started, reason: string): void {
    if (this.#started !== started) return;
    this.#started = undefined;
    if (this.#isClosed) return;
    this.#pause();
    const running = [...started.calls.values()]
      .filter(({ begunAt }) => begunAt !== undefined)
      .map(({ tool, context }) => `${tool.fields.name} (${context.callId})`);
    const lost =
      running.length === 0 ? "No call was running in it" : `It was running ${running.slice(0, 5).join(", ")}`;
    this.#options.warn(
      `The process of the plugin "${this.manifest.id}" ${reason}. ${lost}. It starts again with the next call.`,
    );
  }

  #pause(): void {
    this.#ends += 1;
    const pauseMs = this.#ends < 2 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (this.#ends - 2), MAX_PAUSE_MS);
    this.#mayStartAt = this.#options.clock.monotonic() + pauseMs;
  }

  /** A blocked event loop cannot be stopped in any other way. A call that still has time may be what blocks it. */
  async #endIfBlocked(started: Started): Promise<void> {
    const { clock, graceMs } = this.#options;
    let isAlive = false;
    started.channel.request("ping", undefined as never).answer.then(
      () => (isAlive = true),
      () => (isAlive = true),
    );
    await new Promise<void>((resolve) => clock.after(Math.max(graceMs, MIN_PING_MS), resolve).setRef(false));
    const mayBeWorking = [...started.calls.values()].some(
      ({ begunAt, stoppedBy }) => begunAt !== undefined && !stoppedBy,
    );
    if (!isAlive && !mayBeWorking) started.process.kill("did not respond and was ended");
  }

  /** What is known of a call whose process ended. */
  #lost({ tool, begunAt, hasNestedCalls, context }: RemoteCall, ended: ProcessEnded): ToolError {
    const { name, kind, idempotent } = tool.fields;
    const what = this.#describe(ended);
    if (begunAt === undefined) return this.#unavailable(`The ${what}`, `${name} had not begun.`);
    if ((kind === "readonly" || idempotent) && !hasNestedCalls)
      return this.#unavailable(`The ${what}`, "Call it again.", false);
    const message = `It is not known whether ${name} took effect: while it ran, the ${what}`;
    return toolError("unknown_outcome", message, {
      next: "Check its effect before you call it again.",
      data: { tool: name, callId: context.callId, begunAt, plugin: this.manifest.id, reason: ended.reason },
    });
  }

  #unavailable(message: string, next: string, nothingDone = true): ToolError {
    return toolError("unavailable", message, { next, data: { plugin: this.#loaded.manifest.id }, nothingDone });
  }
}

/** The process ended before it answered. */
class ProcessEnded extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`Its process ${reason}`);
    this.reason = reason;
  }
}

async function start(
  reference: PluginReference,
  { clock, warn }: PluginProcessOptions,
  onEnd: (started: Started, reason: string) => void,
): Promise<{ started: Started; loaded: LoadedPlugin }> {
  const { module, call } = entryOf(await import("./plugin-child.ts"));
  const { memoryMb = DEFAULT_MEMORY_MB, from, path, folder, tools } = reference;
  const loader = module.endsWith(".ts") ? createRequire(import.meta.url).resolve("jiti") : undefined;
  const process = new NodeProcess(
    { module, call, loader, memoryMb },
    {
      message: (message) => channel.receive(message),
      ended(reason) {
        started.endedBy = started.stray ?? reason;
        channel.close(new ProcessEnded(started.endedBy));
        onEnd(started, started.endedBy);
      },
    },
  );
  const channel: Started["channel"] = new Channel((message) => process.send(message), {
    begun: (run) => void (callAt(run).begunAt = clock.now()),
    listening: (run) => void callAt(run).context.signal,
    update: ({ run, partial }) => callAt(run).context.update(partial as string),
    call: ({ run, name, input, options, listener }) => {
      const call = callAt(run);
      call.hasNestedCalls = true;
      const onApprovalRequested =
        listener === undefined
          ? undefined
          : async (approvalId: string) => channel.request("approvalRequested", { listener, approvalId }).answer;
      return call.context.call(name, input, { ...options, onApprovalRequested });
    },
    pause: ({ run, pause }) => void callAt(run).pauses.set(pause, callAt(run).context.pauseTimeLimit()),
    resume({ run, pause }) {
      callAt(run).pauses.get(pause)?.();
      callAt(run).pauses.delete(pause);
    },
    stray({ message, stack, run }) {
      const call = run === undefined ? undefined : started.calls.get(run);
      const by = call ? `${call.tool.fields.name} (${call.context.callId})` : "a call that had ended";
      started.stray = `ended because of an error that nothing caught, of ${by}: ${message}`;
      if (stack) warn(`The plugin "${from}": ${stack}`);
    },
  });
  const started: Started = {
    process,
    channel,
    calls: new Map(),
    open: 0,
    isReplaced: false,
    stray: undefined,
    endedBy: undefined,
  };
  const limit = clock.after(LOAD_MS, () => process.kill(`did not load the plugin within ${LOAD_MS} ms`));
  process.hold(true);
  try {
    const loaded = await channel.request("load", { from, path, folder, tools }).answer;
    return { started, loaded };
  } catch (error) {
    process.kill("could not load the plugin");
    throw error;
  } finally {
    limit.cancel();
    process.hold(false);
  }

  function callAt(run: number): RemoteCall {
    const call = started.calls.get(run);
    if (!call) throw new Error("The call has ended.");
    return call;
  }
}

/** Takes the whole module, so that bundlers keep the function, which is called only in the other process. */
function entryOf(child: typeof import("./plugin-child.ts")): { module: string; call: string } {
  const module = child.PLUGIN_CHILD_URL;
  if (module === import.meta.url) {
    throw new Error("Haft is bundled into one file, so plugins need `inProcess: true` in the configuration.");
  }
  return { module, call: "servePlugin" satisfies keyof typeof child };
}

function sendContext({ callId, caller, workspace, allowedPaths, waitForEnd, authority }: ToolContext): SentContext {
  return { callId, caller, workspace, allowedPaths, waitForEnd, authority };
}

/** Whether a person had to trust it: the files of a folder's own configuration. */
function needsTrust({ origin }: PluginReference): boolean {
  return origin === "project" || origin === "local";
}
