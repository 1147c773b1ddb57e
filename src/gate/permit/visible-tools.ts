import { type Call, type CallAuthority, type Caller, type CallIn, toolOf } from "../../core/call.ts";
import { ToolPermissionError } from "../../core/error.ts";
import { reasonText } from "../../core/localized-text.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { LearnedWords } from "../../core/search/learned-words.ts";
import type { Stage } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { familyOf, type PolicyLayer } from "./policy-layers.ts";
import type { RuleSet } from "./rules/rule-set.ts";
import { findRefusal, isToolAllowed, type Refusal, type ToolPolicy } from "./tool-policy.ts";

/** A named layer, or an unnamed policy. */
export type AnyLayer = PolicyLayer | ToolPolicy;

/** One layer's decision on a tool. */
export interface LayerOpinion {
  layer: string;
  allowed: boolean;
  /** For a refusal: which list decided, and for the deny list which entry. */
  list?: Refusal["list"] | "toolkit";
  entry?: string;
  reason: string;
}

/** Whether a tool exists for a caller: every layer must allow it. */
export function isVisible(tool: AnyTool, layers: readonly AnyLayer[]): boolean {
  return layers.every((layer) => refusalBy(tool, layer) === undefined);
}

/** A client tool exists only for its own user and that user's subagents. */
export function isForCaller({ origin }: AnyTool, caller: Partial<Caller>): boolean {
  if (origin.type !== "client" || origin.user === undefined) return true;
  return familyOf(caller).some(({ user }) => user === origin.user);
}

/** Every layer's decision, in order: for `policy explain`. */
export function explainVisibility(
  tool: AnyTool,
  layers: readonly AnyLayer[],
): { allowed: boolean; layers: LayerOpinion[] } {
  const opinions = layers.map((layer) => {
    const refusal = refusalBy(tool, layer);
    return refusal ?? { layer: nameOf(layer), allowed: true, reason: `${nameOf(layer)} allows it` };
  });
  return { allowed: opinions.every(({ allowed }) => allowed), layers: opinions };
}

/** Refuses tools that do not exist for the caller. The same check decides which tools a model gets. */
export function visible(layersOf: (call: Call) => readonly AnyLayer[]): Stage {
  return {
    name: "visible",
    enter(call) {
      const tool = toolOf(call);
      for (const layer of layersOf(call)) refuseBy(call, tool, layer);
      const { policy, mode } = call.options;
      if (policy)
        for (const own of [policy].flat()) refuseBy(call, tool, { name: "the policy of this call", policy: own });
      if (!isForCaller(tool, call.caller)) throw denied(tool, { reason: "it runs at the client of another user" });
      if (mode === "plan" && !tool.isReadOnly) throw planMode(tool);
    },
  };
}

function refuseBy(call: CallIn<"visible">, tool: AnyTool, layer: AnyLayer): void {
  const refusal = refusalBy(tool, layer);
  if (!refusal) return;
  call.verdict = {
    decision: "deny",
    by: "policy",
    ...layerText(refusal, "policy" in layer ? layer.policy : layer),
    rule: refusal.entry,
    origin: refusal.layer,
  };
  throw denied(tool, refusal);
}

const LAYER_TEXTS = {
  deny: "verdict.layerDenies",
  profile: "verdict.layerProfile",
  allow: "verdict.layerOmits",
  toolkit: "verdict.layerLacks",
} as const;

/** As `refusal.reason`, for other languages too. */
function layerText({ layer, list = "toolkit", entry }: LayerOpinion, { profile = "" }: ToolPolicy) {
  const named = list === "deny" ? entry : list === "profile" ? profile : undefined;
  return reasonText(LAYER_TEXTS[list], named === undefined ? { layer } : { layer, entry: named });
}

function refusalBy(tool: AnyTool, layer: AnyLayer): LayerOpinion | undefined {
  const policy = "policy" in layer ? layer.policy : layer;
  const refusal = findRefusal(tool, policy);
  const name = nameOf(layer);
  if (refusal) return { ...refusal, layer: name, allowed: false, reason: `${name} ${refusal.reason}` };
  if (!("scope" in layer) || !layer.scope || layer.scope.get(tool.name) === tool) return undefined;
  return { layer: name, allowed: false, list: "toolkit", reason: `${name} does not contain it` };
}

function nameOf(layer: AnyLayer): string {
  return "policy" in layer ? layer.name : "a policy";
}

function denied(tool: AnyTool, { reason }: Pick<LayerOpinion, "reason">): ToolPermissionError {
  return new ToolPermissionError(
    tool.name,
    `tool "${tool.name}" is not allowed by policy (${reason})`,
    "Do not call it again; use another tool, or tell the user why you need it.",
    "denied",
    { data: { decidedBy: "policy" } },
  );
}

function planMode(tool: AnyTool): ToolPermissionError {
  return new ToolPermissionError(
    tool.name,
    `"${tool.name}" changes things, and in plan mode only read-only tools run`,
    "Finish the plan first, with read-only tools.",
    "plan_mode",
  );
}

export interface SearchableToolsOptions {
  registry: ToolRegistry;
  rules: RuleSet;
  /** The words of the questions that led a caller to tools. */
  learnedBy?(caller: Partial<Caller>): LearnedWords | undefined;
  /** Which tools exist for a caller. */
  shownTo(caller: Partial<Caller>): (tool: AnyTool) => boolean;
}

/** The tools that a call with these limits could call: only these are searched and ranked. */
export function searchableTools({ registry, rules, shownTo, learnedBy }: SearchableToolsOptions) {
  return ({ caller, mode, policy = [] }: CallAuthority) => {
    const isShown = shownTo(caller);
    const layers = policy.map(admits);
    const filter = (tool: AnyTool): boolean =>
      isShown(tool) &&
      (mode !== "plan" || tool.isReadOnly) &&
      layers.every((admitted) => admitted(tool)) &&
      !rules.deniesAll(tool);
    return {
      search: (query: string, limit: number): readonly AnyTool[] =>
        registry.search(query, { limit, filter, learned: learnedBy?.(caller) }),
      get(name: string): AnyTool | undefined {
        const tool = registry.get(name);
        return tool && filter(tool) ? tool : undefined;
      },
      nearest: (name: string): readonly string[] => registry.nearest(name, filter),
    };
  };
}

/** A toolkit is a list of names, perhaps thousands: they are looked up in a set, and only patterns are matched. */
function admits(layer: ToolPolicy): (tool: AnyTool) => boolean {
  const { allow = [], deny, profile } = layer;
  const names = new Set(deny || profile !== undefined ? [] : allow);
  return (tool) => names.has(tool.name) || isToolAllowed(tool, layer);
}
