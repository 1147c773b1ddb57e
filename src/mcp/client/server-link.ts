import type { Clock, Timer } from "../../core/clock.ts";
import { toolError, ToolError } from "../../core/error.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { McpServerConfig } from "../server-config.ts";
import { isSignInNeeded, unavailable } from "./connection-failures.ts";
import { abortable, MCPClient, type MCPClientOptions } from "./mcp-client.ts";
import type { McpServerState, McpServerStatus } from "./mcp-hub.ts";
import type { ToolCaller } from "./mcp-tool.ts";
import type { AnswerElicitation } from "./server-requests.ts";
import { createServerTools, type ServerTools } from "./server-tools.ts";
import { launchHash, launchText, shownDifference, shownLaunchHash, shownText } from "./tool-definition.ts";
import type { PinStore } from "./tool-pinning.ts";

export interface ServerLinkOptions {
  config: McpServerConfig;
  registry: Pick<ToolRegistry, "register" | "unregister" | "get">;
  pins: PinStore;
  clock: Clock;
  client: Omit<MCPClientOptions, "events" | "clock">;
  onChange(status: McpServerStatus): void;
  onResourceUpdated?(server: string, uri: string): void;
}

/** One server's life: connected, lost, tried again with longer and longer pauses. */
export interface ServerLink extends ToolCaller {
  readonly config: McpServerConfig;
  readonly tools: ServerTools;
  status(): McpServerStatus;
  /** Resolves, never rejects, when the attempt is over, however it ended. */
  connect(): Promise<void>;
  stop(): Promise<void>;
  /** Refused where `hash` is not that of its launch as it is now. */
  approveLaunch(hash?: string): Promise<void>;
  signIn(): Promise<boolean>;
  finishSignIn(callback: string | URL): Promise<void>;
  /** The client of a server that is ready; throws what a caller should hear where it is not. */
  ready(signal?: AbortSignal): Promise<MCPClient>;
}

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 300_000;
/** After this long a server counts as sound again, and its next failure as the first. */
const SOUND_MS = 30_000;

export function createServerLink(options: ServerLinkOptions): ServerLink {
  const { config, registry, pins, clock, onChange } = options;
  const faults = createRecentLines();
  const log = createRecentLines();
  let state: McpServerState = "stopped";
  let error: string | undefined;
  let client = new MCPClient();
  let attempt: Promise<void> | undefined;
  let latencyMs: number | undefined;
  let failures = 0;
  let readyAt = 0;
  let retry: { timer: Timer; at: number } | undefined;
  let isLegacy = false;
  let refreshing: Promise<void> | undefined;
  let changedMeanwhile = false;
  const running = new Set<ToolContext>();
  const { answerElicitation, ...clientOptions } = options.client;

  function setState(next: McpServerState, why?: string): void {
    state = next;
    error = why;
    if (next === "ready") readyAt = clock.monotonic();
    notifyChanged();
  }

  function notifyChanged(): void {
    try {
      onChange(status());
    } catch {
      // A listener harms nobody.
    }
  }

  function createClient(): MCPClient {
    const own: MCPClient = new MCPClient({
      ...clientOptions,
      ...(answerElicitation ? { answerElicitation: pauseTimeLimitWhileAnswering(answerElicitation, running) } : {}),
      clock,
      events: {
        listChanged: (what) => what === "tools" && own === client && void refresh(),
        resourceUpdated: (uri) => options.onResourceUpdated?.(config.name, uri),
        log: (level, data) => log.push(`${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`),
        fault: (message) => faults.push(message),
        closed: () => own === client && state === "ready" && lost(own.ending ?? "the connection was closed"),
      },
    });
    return own;
  }

  function lost(why: string): void {
    const now = clock.monotonic();
    failures = now - readyAt > SOUND_MS ? 1 : failures + 1;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS);
    const timer = clock.after(pause, () => void link.connect());
    timer.setRef(false);
    retry = { timer, at: clock.now() + pause };
    setState("unavailable", why);
  }

  /** Keeps the tools that were known where the new list does not come. */
  async function refresh(): Promise<void> {
    if (refreshing) {
      changedMeanwhile = true;
      return refreshing;
    }
    refreshing = list().catch((failure: unknown) =>
      faults.push(`The list of tools could not be refreshed: ${messageOf(failure)}`),
    );
    await refreshing;
    refreshing = undefined;
    if (changedMeanwhile) {
      changedMeanwhile = false;
      return refresh();
    }
    if (state === "ready") notifyChanged();
  }

  async function list(): Promise<void> {
    const askedAt = clock.monotonic();
    const listed = await client.listTools();
    latencyMs = clock.monotonic() - askedAt;
    await tools.update(listed);
  }

  /** What is started is what was approved: another command under the same name is another server. */
  async function changedLaunch(): Promise<string | undefined> {
    const pin = (await pins.list(config.name)).find(({ tool }) => tool === "");
    if (!pin) await pinLaunch();
    if (!pin || pin.hash === launchHash(config)) return undefined;
    const difference = await shownDifference(config.name, pin.definition, launchText(config));
    return `It is no longer started as it was approved. ${difference || "Its environment or its headers differ."}`;
  }

  function pinLaunch() {
    return pins.put({
      server: config.name,
      tool: "",
      hash: launchHash(config),
      definition: launchText(config),
      pinnedAt: clock.now(),
    });
  }

  async function tryOnce(connect: (client: MCPClient) => Promise<boolean>): Promise<void> {
    setState("connecting");
    try {
      await tools.recall();
      const changed = await changedLaunch();
      if (stateNow() !== "connecting") return;
      if (changed !== undefined) return setState("needs_approval", changed);
      client = createClient();
      if (!(await connect(client))) return setState("needs_sign_in", "A person must sign in to it.");
      await list();
      isLegacy = client.info?.era === "legacy";
      if (stateNow() === "connecting") setState("ready");
      else await client.disconnect();
    } catch (failure) {
      if (stateNow() === "stopped") return;
      const { signInPage } = client;
      await client.disconnect();
      if (isSignInNeeded(failure) || signInPage) setState("needs_sign_in", messageOf(failure));
      else lost(messageOf(failure));
    }
  }

  // A function, so that the state is read anew after every wait.
  const stateNow = (): McpServerState => state;

  function start(connect: (client: MCPClient) => Promise<boolean>): Promise<void> {
    retry?.timer.cancel();
    retry = undefined;
    return (attempt ??= tryOnce(connect).finally(() => (attempt = undefined)));
  }

  function status(): McpServerStatus {
    const { info, signInPage } = client;
    return {
      name: config.name,
      state,
      error,
      nextTryAt: retry && state === "unavailable" ? retry.at : undefined,
      transport: info?.transport ?? config.transport,
      inferred: config.inferred === true || (info !== undefined && info.transport !== config.transport),
      era: info?.era,
      protocolVersion: info?.protocolVersion,
      server: info?.server ? info.server : undefined,
      instructions: info?.instructions === undefined ? undefined : info.instructions,
      latencyMs,
      launchHash: shownLaunchHash(config),
      tools: tools.status(state === "ready"),
      stderr: client.stderrLines(),
      faults: faults.lines(),
      faultCount: faults.count,
      log: log.lines(),
      trusted: config.trust === true,
      origin: config.origin,
      signInPage: signInPage ? signInPage.href : undefined,
    };
  }

  const link: ServerLink = {
    config,
    serverName: config.name,
    trusted: config.trust === true,
    running,
    get tools() {
      return tools;
    },
    status,
    connect: () =>
      state === "ready" ? Promise.resolve() : start((own) => own.connect(config, { isLegacy }).then(() => true)),
    async stop() {
      retry?.timer.cancel();
      retry = undefined;
      setState("stopped", "It was disconnected.");
      await client.disconnect();
      await attempt;
    },
    async approveLaunch(hash) {
      if (hash !== undefined && hash !== shownLaunchHash(config)) {
        throw toolError("conflict", `"${config.name}" is no longer started as it was seen`, {
          next: "Look at it again, and approve what it is now.",
        });
      }
      await pinLaunch();
      if (state === "needs_approval") await link.connect();
    },
    async signIn() {
      await attempt;
      if (state === "ready" && client.signInPage) return client.signIn(config);
      if (state === "ready") return true;
      await start((own) => own.signIn(config));
      return stateNow() === "ready";
    },
    async finishSignIn(callback) {
      await client.finishSignIn(config, callback);
      await link.connect();
    },
    async ready(signal) {
      if (state === "connecting" && attempt) await abortable(attempt, signal);
      if (state === "ready") return client;
      if (state === "needs_sign_in") throw signInNeeded(config.name);
      const again = retry ? `; it is tried again in ${Math.ceil((retry.at - clock.now()) / 1000)} s` : "";
      throw unavailable(config.name, `${error ?? state}${again}`);
    },
    async callTool(name, args, callOptions) {
      const ready = state === "ready" ? client : await link.ready(callOptions?.signal);
      try {
        return await ready.callTool(name, args, callOptions);
      } catch (failure) {
        // Over HTTP no event tells that a server is gone; the call does.
        if (ready === client && state === "ready" && isUnavailable(failure)) {
          lost(messageOf(failure));
          void ready.disconnect();
        }
        throw failure;
      }
    },
  };
  const tools = createServerTools({ config, caller: link, registry, pins, clock });
  return link;
}

function isUnavailable(failure: unknown): boolean {
  return failure instanceof ToolError && failure.code === "unavailable";
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

function signInNeeded(server: string): ToolError {
  return toolError("denied", `MCP server "${server}" wants a sign-in`, {
    next: "Ask the person to sign in to it; do not repeat the call before.",
    data: { signIn: true },
  });
}

/**
 * While a server asks a person, time stands still for the calls that it works on: which of them it asks for, it need not say.
 * Where none of them waits any more, the question is taken back.
 */
function pauseTimeLimitWhileAnswering(answer: AnswerElicitation, running: ReadonlySet<ToolContext>): AnswerElicitation {
  return async (request, signal) => {
    const calls = [...running];
    const message = `MCP server "${request.server}" asks the person something, and waits for the answer`;
    const resumes = calls.map((call) => {
      call.update({ progress: { done: 0, message } });
      return call.pauseTimeLimit();
    });
    const takenBack = new AbortController();
    const checkAgain = (): void => {
      if (signal.aborted || (calls.length > 0 && calls.every((call) => call.signal.aborted))) takenBack.abort();
    };
    const signals = [signal, ...calls.map((call) => call.signal)];
    for (const each of signals) each.addEventListener("abort", checkAgain, { once: true });
    checkAgain();
    try {
      return await answer(request, takenBack.signal);
    } finally {
      for (const each of signals) each.removeEventListener("abort", checkAgain);
      for (const go of resumes) go();
    }
  };
}

/** The last lines of something that may never stop talking. */
export interface RecentLines {
  push(line: string): void;
  lines(): string[];
  /** Of all that were pushed. */
  readonly count: number;
}

const KEPT = 20;
const MAX_LINE_LENGTH = 300;

function createRecentLines(): RecentLines {
  const kept: string[] = [];
  let count = 0;
  return {
    push(line) {
      count++;
      kept.push(line.slice(0, MAX_LINE_LENGTH + 1));
      if (kept.length > KEPT) kept.shift();
    },
    lines: () => kept.map((line) => shownText(line, MAX_LINE_LENGTH)),
    get count() {
      return count;
    },
  };
}
