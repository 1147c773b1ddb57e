import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ConfigurationState } from "../../contracts/configuration.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { Health, HealthProblem, HookProof, InstalledHook, server, ServerInfo } from "../../contracts/server.ts";
import { isDiskFull } from "../../io/files/state-folder.ts";
import type { Haft } from "../../runtime.ts";
import type { SqlDatabase } from "../../store/database.ts";

export interface ServerApiOptions {
  haft: Haft;
  startedAt: number;
  info?: Partial<Pick<ServerInfo, "version" | "workspace" | "command" | "store" | "sandbox">> & { hooks?: HookSource };
  /** The resources that this server has in addition to those of every server. */
  parts(): readonly string[];
  /** The OpenAPI document. */
  describe(version: string): Promise<Record<string, unknown>>;
  /** What a person should know. */
  warnings(): readonly string[];
  health?: HealthSources;
}

/** The hooks in other agents. A server that another program starts knows none. */
export interface HookSource {
  list(): Promise<InstalledHook[]>;
  /** Undefined if no such hook is installed. */
  prove(file: string): Promise<HookProof | undefined>;
}

/** Whose health is reported. */
export interface HealthSources {
  /** Of the store. */
  database?: Pick<SqlDatabase, "health">;
  /** Why it is held, if it is. */
  held?: () => Promise<string | undefined>;
  /** Processes of the store that judge by other rules. */
  otherRules?: () => Promise<string[]>;
  /** The folder whose disk must not be full. */
  stateFolder?: string;
  /** Whether requests were refused in the last seconds. */
  isOverloaded?: () => boolean;
  configuration?: () => ConfigurationState;
}

interface Checked {
  readonly isDamaged: boolean;
  readonly problems: readonly HealthProblem[];
}

/** A delay that users notice. */
const MAX_LAG_MS = 1000;
const WINDOW_MS = 10_000;
/** How long a check of the store and the disk is waited for. */
const CHECK_MS = 25;

/** Measures from its creation on. Asking it costs little: load balancers ask every second. */
export class HealthCheck {
  readonly #sources: HealthSources;
  readonly #delays = monitorEventLoopDelay({ resolution: 20 });
  #windowEndsAt = 0;
  #lastWindowMs = 0;
  #checking: Promise<Checked> | undefined;
  #checked: Checked | undefined;

  constructor(sources: HealthSources) {
    this.#sources = sources;
    this.#delays.enable();
  }

  async read(): Promise<Health> {
    const eventLoopLagMs = this.#readLag();
    const checked = await this.#check();
    const problems = [...checked.problems];
    if (eventLoopLagMs > MAX_LAG_MS) problems.push("event_loop_lag");
    if (this.#sources.isOverloaded?.()) problems.push("overloaded");
    const configuration = this.#sources.configuration?.();
    if (configuration && configuration.problems.length > 0) problems.push("config_invalid");
    const status = checked.isDamaged ? "damaged" : problems.length > 0 ? "degraded" : "ok";
    if (configuration && configuration.restartNeeded.length > 0) problems.push("restart_needed");
    return { status, problems, eventLoopLagMs };
  }

  /** The last known state if the store or the disk does not answer soon: a busy server answers too. */
  async #check(): Promise<Checked> {
    const checking = (this.#checking ??= this.#checkNow());
    if (!this.#checked) return checking;
    let timer: NodeJS.Timeout | undefined;
    const last = this.#checked;
    const late = new Promise<Checked>((resolve) => (timer = setTimeout(() => resolve(last), CHECK_MS)));
    const checked = await Promise.race([checking, late]);
    clearTimeout(timer);
    return checked;
  }

  async #checkNow(): Promise<Checked> {
    try {
      const { database, held, stateFolder } = this.#sources;
      const { state } = (await database?.health()) ?? { state: "ok" };
      const problems: HealthProblem[] = [];
      if (state === "damaged") problems.push("store_damaged");
      if (state === "lost") problems.push("database_lost");
      else if ((await held?.()) !== undefined) problems.push("store_held");
      if (state === "full" || (stateFolder !== undefined && (await isDiskFull(stateFolder))))
        problems.push("disk_full");
      return (this.#checked = { isDamaged: state === "damaged", problems });
    } finally {
      this.#checking = undefined;
    }
  }

  /** What is wrong, in full, for those who may read it. */
  async warnings(): Promise<string[]> {
    const { state, reason } = (await this.#sources.database?.health()) ?? { state: "ok", reason: undefined };
    if (state !== "ok") return [`The store is ${state}${reason === undefined ? "" : `: ${reason}`}`];
    const held = await this.#sources.held?.();
    return held === undefined ? [] : [held];
  }

  /** Of this window and the one before: a delay stays visible for a while. */
  #readLag(): number {
    const now = performance.now();
    // The timer itself fires every 20 ms.
    const maxMs = Math.max(0, Math.round(this.#delays.max / 1e6) - 20);
    const lag = Math.max(maxMs, this.#lastWindowMs);
    if (now > this.#windowEndsAt) {
      this.#lastWindowMs = maxMs;
      this.#windowEndsAt = now + WINDOW_MS;
      this.#delays.reset();
    }
    return lag;
  }
}

function configurationWarnings(state: ConfigurationState | undefined): string[] {
  if (!state) return [];
  const { problems, restartNeeded } = state;
  const kept = "The last good configuration is in effect, with every deny and ask rule that can be read.";
  return [
    ...(problems.length > 0 ? [`The changed configuration cannot be used: ${problems.join(" ")} ${kept}`] : []),
    ...(restartNeeded.length > 0 ? [`Restart needed: ${restartNeeded.join(", ")} changed.`] : []),
  ];
}

export function createServerApi(options: ServerApiOptions): Handlers<typeof server> {
  const { haft, startedAt, info: { version = "unknown", hooks, ...info } = {}, warnings } = options;
  const health = new HealthCheck(options.health ?? {});
  return {
    health: () => health.read(),
    info: async () => ({
      name: "haft",
      version,
      ...info,
      startedAt,
      // `rules` is the endpoint of `policy` that shows the effect of a rule.
      parts: options.parts().flatMap((part) => (part === "policy" ? [part, "rules"] : [part])),
      warnings: [
        ...warnings(),
        ...configurationWarnings(options.health?.configuration?.()),
        ...(await health.warnings()),
        ...((await options.health?.otherRules?.()) ?? []),
      ],
      configuration: options.health?.configuration?.(),
      load: haft.calls.load(),
    }),
    hooks: async () => ({ items: (await hooks?.list()) ?? [] }),
    async tryHook({ body }) {
      const proof = await hooks?.prove(body.file);
      if (!proof) throw new ApiError("not_found", "No hook of Haft is installed in that file", "See GET /api/hooks.");
      return proof;
    },
    openApi: () => options.describe(version),
  };
}
