import type { GrantCaps } from "./calls/grants.ts";
import type { Caller } from "./core/call.ts";
import { AUTHORITIES, FIELD_TRUSTS, PROVENANCE_MODES, TAINT_LABELS } from "./core/call-summary.ts";
import { checkKeys, checkWords, keysOf, withDefaults } from "./core/options.ts";
import { ToolPermission } from "./core/tool.ts";
import { type ConcurrencyLimits, DEFAULT_CONCURRENCY } from "./gate/concurrency.ts";
import type { ProvenanceOptions, ToolLabels } from "./gate/permit/provenance/provenance.ts";
import type { AnyLayer } from "./gate/permit/visible-tools.ts";
import type { ResponseLength } from "./gate/response-length.ts";
import { DEFAULT_TIMEOUTS, type Timeouts } from "./gate/timeouts.ts";
import type { HaftOptions, RuntimeOptions } from "./haft.ts";
import type { WorkerOptions } from "./jobs/jobs.ts";
import { checkToolPolicy } from "./gate/permit/tool-policy.ts";
import { checkToolSearch, type ToolSearchOptions } from "./tools/discovery/tool-search.ts";

const OPTION_KEYS = keysOf<HaftOptions>({
  tools: true,
  workspace: true,
  policy: true,
  rules: true,
  defaultPermission: true,
  approver: true,
  contextFor: true,
  decide: true,
  hooks: true,
  folder: true,
  registry: true,
  provenance: true,
  approvalWaitMs: true,
  approvals: true,
  grants: true,
  code: true,
  toolSearch: true,
  tokens: true,
  concurrency: true,
  timeouts: true,
  maxResultBytes: true,
  maxResultTokens: true,
  middleware: true,
  clock: true,
  log: true,
  calls: true,
  spill: true,
  jobs: true,
  worker: true,
  onListenerError: true,
  onWarning: true,
});
const CONCURRENCY_KEYS = keysOf<ConcurrencyLimits>({
  maxConcurrent: true,
  byKind: true,
  maxWaiting: true,
  maxWaitMs: true,
});
const TIMEOUT_KEYS = keysOf<Timeouts>({ defaultMs: true, networkMs: true, maxMs: true, graceMs: true });
const APPROVAL_KEYS = keysOf<NonNullable<HaftOptions["approvals"]>>({
  lifetimeMs: true,
  replayMs: true,
  checkAnswer: true,
  maxOpenPerSession: true,
  maxOpenPerUser: true,
  maxShownBytes: true,
});
const GRANT_KEYS = keysOf<GrantCaps>({ maxMinutes: true, maxUses: true, maxBudget: true });
const PROVENANCE_KEYS = keysOf<ProvenanceOptions>({
  ...{ mode: true, tools: true, store: true, taintStore: true, readResults: true },
});
const TOOL_LABEL_KEYS = keysOf<ToolLabels>({ labels: true, results: true, arguments: true });
const WORKER_KEYS = keysOf<WorkerOptions>({ name: true, concurrency: true, takes: true });

/** Throws a TypeError for an option that does not exist. */
export function checkOptionNames(options: HaftOptions): void {
  checkKeys("createHaft", options, OPTION_KEYS);
}

/** Throws a TypeError for a value that cannot be used. */
export function checkOptions(options: RuntimeOptions): void {
  const { policy = [], worker } = options;
  checkDefaultPermission(options.defaultPermission);
  checkKeys("`concurrency` of createHaft", options.concurrency, CONCURRENCY_KEYS);
  checkKeys("`timeouts` of createHaft", options.timeouts, TIMEOUT_KEYS);
  checkToolSearch(options.toolSearch);
  checkKeys("`approvals` of createHaft", options.approvals, APPROVAL_KEYS);
  checkKeys("`grants` of createHaft", options.grants, GRANT_KEYS);
  checkProvenance(options.provenance);
  checkKeys("`worker` of createHaft", worker || undefined, WORKER_KEYS);
  for (const layer of typeof policy === "function" ? [] : [policy].flat())
    checkToolPolicy("`policy` of createHaft", layer);
}

/** A label with another name would be none. */
function checkProvenance(given: ProvenanceOptions | undefined): void {
  checkKeys("`provenance` of createHaft", given, PROVENANCE_KEYS);
  checkWords("`provenance.mode` of createHaft", [given?.mode], PROVENANCE_MODES);
  for (const [name, tool] of Object.entries(given?.tools ?? {})) {
    const where = `\`provenance.tools\` of createHaft, "${name}"`;
    checkKeys(where, tool, TOOL_LABEL_KEYS);
    checkWords(`${where}: a label`, tool.labels ?? [], TAINT_LABELS);
    checkWords(`${where}: a field of \`results\``, Object.values(tool.results ?? {}), FIELD_TRUSTS);
    checkWords(`${where}: one of \`arguments\``, Object.values(tool.arguments ?? {}), AUTHORITIES);
  }
}

function checkDefaultPermission(given: unknown): void {
  if (given === undefined || Object.values<unknown>(ToolPermission).includes(given)) return;
  throw new TypeError(`\`defaultPermission\` of createHaft is ${JSON.stringify(given)}; use "auto" or "confirm".`);
}

/** The options that a host may change while the runtime runs. */
export type LiveOptions = Pick<
  RuntimeOptions,
  | "policy"
  | "hooks"
  | "timeouts"
  | "concurrency"
  | "maxResultBytes"
  | "maxResultTokens"
  | "response"
  | "toolSearch"
  | "approvalWaitMs"
  | "approvals"
  | "grants"
  | "provenance"
>;

/** The options in the form in which the parts of a runtime read them at each call. Each part keeps its object. */
export interface LiveSettings {
  layersFor(caller: Partial<Caller>): readonly AnyLayer[];
  response: ResponseLength | undefined;
  approvalWaitMs: number | undefined;
  readonly timeouts: Timeouts;
  readonly concurrency: ConcurrencyLimits;
  readonly results: Pick<HaftOptions, "maxResultBytes" | "maxResultTokens">;
  /** Undefined if there is no tool search. */
  readonly toolSearch: ToolSearchOptions | undefined;
  readonly approvals: NonNullable<HaftOptions["approvals"]>;
  grants: GrantCaps;
}

/** Has every key: an option that is not given any more gets its default again. */
export function liveSettings(options: LiveOptions): LiveSettings {
  const {
    policy = [],
    maxResultBytes,
    maxResultTokens,
    response,
    approvalWaitMs,
    approvals = {},
    grants = {},
  } = options;
  const { lifetimeMs, replayMs, maxOpenPerSession, maxOpenPerUser, maxShownBytes, checkAnswer } = approvals;
  const layers = typeof policy === "function" ? [] : [policy].flat();
  return {
    layersFor: typeof policy === "function" ? policy : () => layers,
    response,
    approvalWaitMs,
    timeouts: withDefaults(DEFAULT_TIMEOUTS, options.timeouts),
    concurrency: { byKind: undefined, ...withDefaults(DEFAULT_CONCURRENCY, options.concurrency) },
    results: { maxResultBytes, maxResultTokens },
    toolSearch: toolSearchOf(options),
    approvals: { lifetimeMs, replayMs, maxOpenPerSession, maxOpenPerUser, maxShownBytes, checkAnswer },
    grants,
  };
}

/** In place: the parts of the runtime read these objects. */
export function replaceSettings(current: LiveSettings, next: LiveSettings): void {
  const { layersFor, response, approvalWaitMs, toolSearch, grants } = next;
  Object.assign(current, { layersFor, response, approvalWaitMs, grants });
  Object.assign(current.timeouts, next.timeouts);
  Object.assign(current.concurrency, next.concurrency);
  Object.assign(current.results, next.results);
  Object.assign(current.approvals, next.approvals);
  // What it learns from, and where that is kept, stays.
  const { budget, core } = toolSearch ?? {};
  if (current.toolSearch) Object.assign(current.toolSearch, { budget, core });
}

function toolSearchOf({ toolSearch }: LiveOptions): ToolSearchOptions | undefined {
  if (toolSearch === true) return {};
  return !toolSearch || toolSearch.enabled === false ? undefined : { ...toolSearch };
}
