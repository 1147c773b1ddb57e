import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { errorMessage } from "../../core/error.ts";
import type { policy, PolicyChange, PromotionInfo, ShadowInfo, ShadowReport } from "../../contracts/policy.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import type { Rule } from "../../gate/permit/rules/rule.ts";
import type { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import type { Haft } from "../../runtime.ts";
import { STORED_RULES } from "../../store/stored-rules.ts";
import { changedRuleSet, type PastCalls } from "./policy.ts";

/** Where the shadow and the last promotion are kept. */
interface ShadowKeeper {
  /** The origin of the rules that can be changed here. */
  readonly origin: string;
  shadow(): Promise<ShadowInfo | undefined>;
  start(name: string, change: PolicyChange, by: string): Promise<ShadowInfo>;
  stop(): Promise<void>;
  promotion(): Promise<PromotionInfo | undefined>;
  plan(change: PolicyChange, changed: RuleSet): { plan: PromotionInfo["plan"]; blocked: Rule[] };
  promote(name: string, plan: PromotionInfo["plan"], options: Begun): Promise<PromotionInfo | undefined>;
  rollback(id: string, options: Begun): Promise<boolean>;
}

interface Begun {
  by: string;
  /** Records it. Called once nothing but the write can fail. */
  begin(): Promise<void>;
}

interface ShadowApiOptions {
  /** Undefined if the host keeps no policy. */
  keeper: ShadowKeeper | undefined;
  /** Records what a person does, before it takes effect. */
  record(fact: AuditFact): Promise<void>;
  pastCalls: PastCalls;
  /** Puts changed files of the configuration into effect. */
  refresh?: (() => Promise<unknown>) | undefined;
}

const MAX_CALLS = 20_000;
const MAX_CHANGED = 200;

/** A policy beside the active one, and its way to become active. */
export function createShadowApi(
  haft: Haft,
  { keeper: given, record, pastCalls, refresh }: ShadowApiOptions,
): Pick<Handlers<typeof policy>, "shadow" | "startShadow" | "stopShadow" | "promote" | "rollback"> {
  const keeper = (): ShadowKeeper => {
    if (!given) throw new ApiError("not_here", "This host keeps no policy", "Open it with openHaft.");
    return given;
  };

  const checked = (change: PolicyChange) => {
    if (change.provenance !== undefined && haft.policy.provenance.settings.mode === "off")
      throw new ApiError(
        "bad_request",
        "Provenance is off, so nothing is known of where values come from",
        "Set provenance.mode to note first.",
      );
    return changedRuleSet(haft.policy.rules, change);
  };

  const planned = (change: PolicyChange, origin: string) => {
    const { plan, blocked } = keeper().plan(change, checked(change));
    const [first] = blocked;
    if (first) {
      const others = blocked.length > 1 ? ` and ${blocked.length - 1} more` : "";
      throw new ApiError(
        "conflict",
        `"${first.text}" (${first.list}, ${first.origin})${others} would have to go, and is not a saved rule`,
        "Remove it in its file, or add the new rules to the active ones: --add.",
      );
    }
    const setting = ["defaultMode", "defaultPermission", "provenance"].find(
      (name) => plan[name as keyof typeof plan] !== undefined,
    );
    if (setting !== undefined && origin === STORED_RULES)
      throw new ApiError(
        "conflict",
        `A store on a server keeps rules, and no ${setting}`,
        "Set it in the configuration.",
      );
    return plan;
  };

  /** A change that is refused leaves no entry; one that fails after its entry leaves a second one that says so. */
  const recorded = async <Made>(
    { by, ...data }: AuditFact["data"] & { by: string; action: string },
    change: (options: Begun) => Promise<Made>,
  ): Promise<Made> => {
    const entry = (more?: AuditFact["data"]): Promise<void> =>
      record({ kind: "config_changed", caller: { user: by }, data: { ...data, by, ...more } });
    let hasBegun = false;
    const begin = async (): Promise<void> => {
      await entry();
      hasBegun = true;
    };
    try {
      return await change({ by, begin });
    } catch (error) {
      if (hasBegun) await entry({ action: `${data.action}_failed`, problem: errorMessage(error) });
      throw error;
    }
  };

  return {
    async shadow() {
      const [shadow, promotion] = await Promise.all([keeper().shadow(), keeper().promotion()]);
      const report: ShadowReport = {
        shadow,
        calls: 0,
        failed: 0,
        newly: { allow: 0, ask: 0, deny: 0 },
        tools: [],
        changed: [],
        promotion: promotion && infoOf(promotion),
      };
      if (!shadow) return report;
      const counts = new Map<string, ShadowReport["tools"][number]>();
      for await (const { calls } of pastCalls({ since: shadow.startedAt })) {
        for (const { callId, toolName, at, session, user, digest } of calls) {
          report.calls++;
          const said = digest?.shadow;
          if (said?.id !== shadow.id) continue;
          const { before, after, by, rule } = said;
          if (after === "failed") {
            report.failed++;
            continue;
          }
          report.newly[after]++;
          const key = [toolName, before, after].join("\0");
          const count = counts.get(key);
          if (count) count.count++;
          else counts.set(key, { tool: toolName, before, after, count: 1 });
          if (report.changed.length >= MAX_CHANGED) continue;
          const tool = haft.tools.registry.get(toolName);
          const subject = tool ? summarizeCall(tool, digest?.input).subject : { type: "text" as const, text: "" };
          report.changed.push({ callId, toolName, subject, at, session, user, before, after, by, rule });
        }
        if (report.calls >= MAX_CALLS) break;
      }
      report.tools = [...counts.values()].sort((one, other) => other.count - one.count);
      return report;
    },
    async startShadow({ body: { name, change }, identity }) {
      checked(change);
      await record({ kind: "note", caller: { user: identity.name }, data: { shadowStarted: name } });
      return keeper().start(name, change, identity.name);
    },
    async stopShadow({ identity }) {
      const shadow = await keeper().shadow();
      if (!shadow) throw new ApiError("not_found", "No shadow policy runs");
      await record({ kind: "note", caller: { user: identity.name }, data: { shadowStopped: shadow.name } });
      await keeper().stop();
      return { status: "ok" };
    },
    async promote({ body: { shadow: id, change: wanted, name: wantedName, isPreview }, identity: { name: by } }) {
      const shadow = await keeper().shadow();
      if (id !== undefined && id !== shadow?.id)
        throw new ApiError("conflict", "Another shadow policy runs by now", "Read its report: haft policy shadow.");
      const change = wanted ?? shadow?.change;
      if (!change) throw new ApiError("not_found", "No shadow policy runs", "Start one, or name a file.");
      const name = wanted ? (wantedName ?? "policy") : (shadow?.name ?? "");
      const plan = planned(change, keeper().origin);
      if (
        plan.add.length + plan.remove.length === 0 &&
        Object.values(plan).every((value) => value === undefined || Array.isArray(value))
      )
        throw new ApiError("conflict", "This policy is active already");
      if (isPreview) return { id: "", name, at: haft.settings.clock.now(), plan };
      const made = await recorded({ action: "policy_promoted", by, name, ...plan }, async (options) => {
        const done = await keeper().promote(name, plan, options);
        if (!done)
          throw new ApiError("conflict", "The saved rules have changed meanwhile", "Look at the report again.");
        return done;
      });
      await refresh?.();
      if (!wanted) await keeper().stop();
      return infoOf(made);
    },
    async rollback({ identity: { name: by } }) {
      const made = await keeper().promotion();
      if (!made) throw new ApiError("not_found", "No policy was promoted", "Rules are removed on the policy page.");
      const { name, plan } = made;
      await recorded({ action: "policy_rolled_back", by, name, promotion: made.id }, async (options) => {
        if (await keeper().rollback(made.id, options)) return;
        throw new ApiError(
          "conflict",
          `The saved rules (${keeper().origin}) were changed since "${name}" was promoted, and nothing was taken back`,
          `Remove its rules by hand: ${plan.add.map(({ rule }) => rule).join(", ") || "none"}.`,
        );
      });
      await refresh?.();
      return infoOf(made);
    },
  };
}

function infoOf({ id, name, at, by, plan }: PromotionInfo): PromotionInfo {
  return { id, name, at, by, plan };
}
