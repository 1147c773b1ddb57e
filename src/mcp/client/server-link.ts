import { type Clock, type Timer, untilAborted } from "../../core/clock.ts";
import { errorMessage, toolError, ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { McpServerConfig } from "../server-config.ts";
import { isSignInNeeded, reasonOf, unavailable } from "./connection-failures.ts";
import { type MCPCallOptions, type MCPCallResult, MCPClient, type MCPClientOptions } from "./mcp-client.ts";
import type { McpServerState, McpServerStatus } from "./mcp-hub.ts";
import type { ToolCaller } from "./mcp-tool.ts";
import type { AnswerElicitation } from "./server-requests.ts";
import { type ProtocolEntry, ProtocolLog } from "./protocol-log.ts";
import { ServerTools, type ServerToolsOptions } from "./server-tools.ts";
import { launchHash, launchText, shownDifference, shownLaunch, shownLaunchHash, shownText } from "./tool-definition.ts";
import { ENTRY_PIN, LAUNCH_PIN } from "./tool-pinning.ts";

interface ServerLinkOptions extends Omit<ServerToolsOptions, "caller"> {
  client: Omit<MCPClientOptions, "events" | "clock">;
  onChange(status: McpServerStatus): void;
  onResourceUpdated?(server: string, uri: string): void;
}

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 300_000;
/** After this time a connection is stable, and its next failure is the first one again. */
const STABLE_MS = 30_000;

/** The connection to one server. If it is lost, it is retried with increasing pauses. */
export class ServerLink implements ToolCaller {
  readonly config: McpServerConfig;
  readonly tools: ServerTools;
  /** The calls that the server is working on. */
  readonly running = new Set<ToolContext>();
  readonly #options: ServerLinkOptions;
  readonly #clock: Clock;
  readonly #faults = new RecentLines();
  readonly #log = new RecentLines();
  readonly #protocol: ProtocolLog;
  #state: McpServerState = "stopped";
  #error: string | undefined;
  /** Kept during the next attempts: until one succeeds, it is the reason why the server is not there. */
  #failure: { reason: string; at: number; stderr: string[] } | undefined;
  #client = new MCPClient();
  #attempt: Promise<void> | undefined;
  #latencyMs: number | undefined;
  #failures = 0;
  /** Undefined if it has not been ready since the last failure. */
  #readyAt: number | undefined;
  #retry: { timer: Timer; at: number } | undefined;
  #isLegacy = false;
  #refreshing: Promise<void> | undefined;
  #mustRefreshAgain = false;

  constructor(options: ServerLinkOptions) {
    const { config, registry, pins, locked, clock } = options;
    this.#options = options;
    this.#clock = clock;
    this.config = config;
    this.#protocol = new ProtocolLog(clock);
    this.tools = new ServerTools({ config, caller: this, registry, pins, locked, clock });
  }

  get serverName(): string {
    return this.config.name;
  }

  get trusted(): boolean {
    return this.config.trust === true;
  }

  status(): McpServerStatus {
    const { config } = this;
    const { info, signInPage } = this.#client;
    const failure = this.#state === "connecting" || this.#state === "unavailable" ? this.#failure : undefined;
    const stderr = this.#client.stderrLines();
    return {
      name: config.name,
      state: this.#state,
      error: this.#error ?? failure?.reason,
      failedAt: failure?.at,
      attempt: failure && this.#failures + 1,
      nextTryAt: this.#state === "unavailable" ? this.#retry?.at : undefined,
      transport: info?.transport ?? config.transport,
      inferred: config.inferred === true || (info !== undefined && info.transport !== config.transport),
      era: info?.era,
      protocolVersion: info?.protocolVersion,
      server: info?.server,
      instructions: info?.instructions,
      latencyMs: this.#latencyMs,
      launchHash: shownLaunchHash(config),
      launch: shownLaunch(config),
      tools: this.tools.status(this.#state === "ready"),
      stderr: stderr.length > 0 ? stderr : (failure?.stderr ?? []),
      faults: this.#faults.lines(),
      faultCount: this.#faults.count,
      log: this.#log.lines(),
      trusted: this.trusted,
      origin: config.origin,
      signInPage: signInPage?.href,
    };
  }

  /** The last messages, oldest first. */
  protocol(after?: number): ProtocolEntry[] {
    return this.#protocol.entries(after);
  }

  /** Resolves when the attempt is over, successful or not. Never rejects. */
  async connect(): Promise<void> {
    if (this.#state === "ready") return;
    await this.#start(async (client) => {
      await client.connect(this.config, { isLegacy: this.#isLegacy });
      return true;
    });
  }

  async stop(): Promise<void> {
    this.#cancelRetry();
    this.#setState("stopped", "It was disconnected.");
    await this.#client.disconnect();
    await this.#attempt;
  }

  /** Rejects if `hash` is not the hash of the current launch configuration. */
  async approveLaunch(hash?: string): Promise<void> {
    if (hash !== undefined && hash !== shownLaunchHash(this.config)) {
      throw toolError("conflict", `The launch configuration of "${this.serverName}" has changed since it was shown`, {
        next: "Look at it again, and approve the current one.",
      });
    }
    await this.#pinLaunch();
    if (this.#state === "needs_approval") await this.connect();
  }

  async signIn(): Promise<boolean> {
    await this.#attempt;
    if (this.#state === "ready") return this.#client.signInPage ? this.#client.signIn(this.config) : true;
    await this.#start((client) => client.signIn(this.config));
    return this.#isInState("ready");
  }

  async finishSignIn(callback: string | URL): Promise<void> {
    await this.#client.finishSignIn(this.config, callback);
    await this.connect();
  }

  /** The client of the connected server. Rejects with an error for the caller if it is not connected. */
  async ready(signal?: AbortSignal): Promise<MCPClient> {
    if (this.#state === "connecting" && this.#attempt) await untilAborted(this.#attempt, signal);
    if (this.#isInState("ready")) return this.#client;
    if (this.#isInState("needs_sign_in")) throw signInNeeded(this.serverName);
    const seconds = this.#retry && Math.ceil((this.#retry.at - this.#clock.now()) / 1000);
    const retry = seconds === undefined ? "" : `; the next attempt is in ${seconds} s`;
    throw unavailable(this.serverName, `${this.#error ?? this.#state}${retry}`, { nothingDone: true });
  }

  explainRefusal(text: string): string | undefined {
    return this.#client.explainRefusal(text);
  }

  async callTool(name: string, args: unknown, options?: MCPCallOptions): Promise<MCPCallResult> {
    const client = this.#state === "ready" ? this.#client : await this.ready(options?.signal);
    try {
      return await client.callTool(name, args, options);
    } catch (failure) {
      // Over HTTP there is no event when a server disappears; a failed call shows it.
      if (client === this.#client && this.#state === "ready" && isUnavailable(failure)) {
        this.#lost(reasonOf(failure));
        void client.disconnect();
      }
      throw failure;
    }
  }

  /** A method, because TypeScript would not expect the state to change during an await. */
  #isInState(state: McpServerState): boolean {
    return this.#state === state;
  }

  #start(connect: (client: MCPClient) => Promise<boolean>): Promise<void> {
    this.#cancelRetry();
    return (this.#attempt ??= this.#tryOnce(connect).finally(() => (this.#attempt = undefined)));
  }

  async #tryOnce(connect: (client: MCPClient) => Promise<boolean>): Promise<void> {
    this.#setState("connecting");
    try {
      await this.tools.recall();
      const changed = await this.#changedLaunch();
      if (!this.#isInState("connecting")) return;
      if (changed !== undefined) return this.#setState("needs_approval", changed);
      this.#client = this.#createClient();
      if (!(await connect(this.#client))) return this.#setState("needs_sign_in", "A person must sign in to it.");
      await this.#list();
      this.#isLegacy = this.#client.info?.era === "legacy";
      if (this.#isInState("connecting")) this.#setState("ready");
      else await this.#client.disconnect();
    } catch (failure) {
      if (this.#isInState("stopped")) return;
      const { signInPage } = this.#client;
      await this.#client.disconnect();
      if (isSignInNeeded(failure) || signInPage) this.#setState("needs_sign_in", errorMessage(failure));
      else this.#lost(reasonOf(failure));
    }
  }

  #createClient(): MCPClient {
    const { answerElicitation, ...clientOptions } = this.#options.client;
    const client: MCPClient = new MCPClient({
      ...clientOptions,
      answerElicitation: answerElicitation && pauseTimeLimitWhileAnswering(answerElicitation, this.running),
      clock: this.#clock,
      events: {
        listChanged: (what) => what === "tools" && client === this.#client && void this.#refresh(),
        resourceUpdated: (uri) => this.#options.onResourceUpdated?.(this.serverName, uri),
        log: (level, data) => this.#log.push(`${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`),
        message: (direction, message) => this.#protocol.push(direction, message),
        fault: (message) => this.#faults.push(message),
        closed: () => {
          if (client !== this.#client || this.#state !== "ready") return;
          this.#lost(client.ending ?? "the connection was closed");
        },
      },
    });
    return client;
  }

  #lost(reason: string): void {
    const wasStable = this.#readyAt !== undefined && this.#clock.monotonic() - this.#readyAt > STABLE_MS;
    this.#failures = wasStable ? 1 : this.#failures + 1;
    this.#readyAt = undefined;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), MAX_PAUSE_MS);
    const timer = this.#clock.after(pause, () => void this.connect());
    timer.setRef(false);
    const now = this.#clock.now();
    this.#retry = { timer, at: now + pause };
    this.#failure = { reason, at: now, stderr: this.#client.stderrLines() };
    this.#setState("unavailable", reason);
  }

  #cancelRetry(): void {
    this.#retry?.timer.cancel();
    this.#retry = undefined;
  }

  /** Keeps the known tools if the new list cannot be loaded. */
  async #refresh(): Promise<void> {
    if (this.#refreshing) {
      this.#mustRefreshAgain = true;
      return this.#refreshing;
    }
    this.#refreshing = this.#list().catch((failure: unknown) =>
      this.#faults.push(`The list of tools could not be refreshed: ${errorMessage(failure)}`),
    );
    await this.#refreshing;
    this.#refreshing = undefined;
    if (this.#mustRefreshAgain) {
      this.#mustRefreshAgain = false;
      return this.#refresh();
    }
    if (this.#state === "ready") this.#notifyChanged();
  }

  async #list(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const listed = await this.#client.listTools();
    this.#latencyMs = this.#clock.monotonic() - startedAt;
    await this.tools.update(listed);
  }

  /** Only the approved command may be started: another command with the same name is another server. */
  async #changedLaunch(): Promise<string | undefined> {
    const pins = await this.#options.pins.list(this.serverName);
    const pin = pins.find(({ tool }) => tool === LAUNCH_PIN);
    const { entryDigest } = this.config;
    const isNewlyTrusted =
      entryDigest !== undefined && entryDigest !== pins.find(({ tool }) => tool === ENTRY_PIN)?.hash;
    // Who trusted this entry has seen what it starts.
    if (!pin || isNewlyTrusted) await this.#pinLaunch();
    if (!pin || isNewlyTrusted || pin.hash === launchHash(this.config)) return undefined;
    const { whole } = await shownDifference(this.serverName, pin.definition, launchText(this.config));
    return `Its launch configuration was not approved. ${whole || "Its environment or its headers differ."}`;
  }

  async #pinLaunch(): Promise<void> {
    const { serverName: server, config } = this;
    const [definition, pinnedAt] = [launchText(config), this.#clock.now()];
    await this.#options.pins.put({ server, tool: LAUNCH_PIN, hash: launchHash(config), definition, pinnedAt });
    const { entryDigest: hash } = config;
    if (hash !== undefined) await this.#options.pins.put({ server, tool: ENTRY_PIN, hash, definition, pinnedAt });
  }

  #setState(state: McpServerState, error?: string): void {
    this.#state = state;
    this.#error = error;
    if (state === "ready") {
      this.#readyAt = this.#clock.monotonic();
      this.#failure = undefined;
    }
    this.#notifyChanged();
  }

  #notifyChanged(): void {
    try {
      this.#options.onChange(this.status());
    } catch {
      // A failing listener must not affect the connection.
    }
  }
}

function isUnavailable(failure: unknown): boolean {
  return failure instanceof ToolError && failure.code === "unavailable";
}

function signInNeeded(server: string): ToolError {
  return toolError("denied", `MCP server "${server}" requires a sign-in`, {
    next: "A person must sign in to it first. Repeat the call only after that.",
    data: { signIn: true },
    nothingDone: true,
  });
}

/** Pauses all running time limits while the server asks a person: for which call, it does not tell. */
function pauseTimeLimitWhileAnswering(answer: AnswerElicitation, running: ReadonlySet<ToolContext>): AnswerElicitation {
  return async (request, signal) => {
    const calls = [...running];
    const message = `MCP server "${request.server}" asks the person a question and waits for the answer`;
    const resumes = calls.map((call) => {
      call.update({ progress: { done: 0, message } });
      return call.pauseTimeLimit();
    });
    const withdrawn = new AbortController();
    const checkCalls = (): void => {
      if (signal.aborted || (calls.length > 0 && calls.every((call) => call.signal.aborted))) withdrawn.abort();
    };
    const signals = [signal, ...calls.map((call) => call.signal)];
    for (const each of signals) each.addEventListener("abort", checkCalls, { once: true });
    checkCalls();
    try {
      return await answer({ ...request, callIds: calls.map(({ callId }) => callId) }, withdrawn.signal);
    } finally {
      for (const each of signals) each.removeEventListener("abort", checkCalls);
      for (const resume of resumes) resume();
    }
  };
}

const MAX_RECENT_LINES = 20;
const MAX_LINE_LENGTH = 300;

/** Keeps the last lines, and counts all of them. */
class RecentLines {
  count = 0;
  readonly #lines: string[] = [];

  push(line: string): void {
    this.count++;
    this.#lines.push(line.slice(0, MAX_LINE_LENGTH + 1));
    if (this.#lines.length > MAX_RECENT_LINES) this.#lines.shift();
  }

  lines(): string[] {
    return this.#lines.map((line) => shownText(line, MAX_LINE_LENGTH));
  }
}
