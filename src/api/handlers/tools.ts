import type { Verdict } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError, notFound } from "../../contracts/errors.ts";
import type { ToolInfo, tools } from "../../contracts/tools.ts";
import { declarationOf } from "../../core/definition.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool, ToolPermission } from "../../core/tool.ts";
import { groupsOf, TOOL_GROUPS } from "../../gate/permit/tool-groups.ts";
import { annotationsOf } from "../../mcp/client/tool-annotations.ts";
import type { Haft } from "../../runtime.ts";
import type { CallMetrics } from "./call-metrics.ts";

const MAX_FOUND = 100;

export interface ToolsApiOptions {
  haft: Haft;
  metrics: CallMetrics;
  /** Undefined if it depends on the input. */
  verdictOf?(tool: AnyTool): Verdict | undefined;
}

export function createToolsApi({ haft, metrics, verdictOf }: ToolsApiOptions): Handlers<typeof tools> {
  const describe = (tool: AnyTool): ToolInfo => {
    const { name, title, description, kind, category, tags, aliases, version, mode, labels, origin, builtIn, output } =
      tool;
    const { timeoutMs, maxConcurrent, maxResultBytes } = tool.limits;
    const statistics = haft.tools.stats().callStats[name];
    return {
      name,
      title,
      // A copy of what the tool has: the schema's types are not readonly.
      description: description as ToolInfo["description"],
      translations: builtIn && { zh: builtIn.zh },
      kind,
      category,
      tags: [...tags],
      aliases: [...aliases],
      version,
      mode,
      permission: permissionOf(tool, haft.policy.rules.defaultPermission),
      labels: [...labels],
      get authority() {
        return { ...haft.policy.provenance.rolesOf(tool).authority };
      },
      get trust() {
        return { ...haft.policy.provenance.rolesOf(tool).trust };
      },
      groups: allGroupsOf(tool),
      origin,
      annotations: annotationsOf(tool),
      // Made if they are read: the list at a terminal does not show them.
      get parameters() {
        return declarationOf(tool).parameters;
      },
      get output() {
        return output?.jsonSchema;
      },
      limits: { timeoutMs: typeof timeoutMs === "number" ? timeoutMs : undefined, maxConcurrent, maxResultBytes },
      verdict: verdictOf?.(tool),
      statistics: statistics && metrics.ofTool(name, statistics),
    };
  };

  return {
    list({ query: { search, group, kind }, identity }) {
      const caller = { user: identity.name };
      const found =
        search === undefined ? haft.tools.list({ caller }) : haft.tools.search(search, { limit: MAX_FOUND, caller });
      const items = found
        .map(describe)
        .filter((tool) => kind === undefined || tool.kind === kind)
        .filter((tool) => group === undefined || tool.category === group || tool.groups.includes(group));
      return { items };
    },
    async forget({ query: { tool }, identity }) {
      // A name that is no longer registered may still have been learned about.
      const name = tool === undefined ? undefined : (haft.tools.registry.get(tool)?.name ?? tool);
      return { tools: await haft.tools.forgetUse({ user: identity.name, tool: name }) };
    },
    get({ params: { name }, identity }) {
      const tool = haft.tools.registry.get(name);
      // A tool that the policy hides does not exist.
      const shown = haft.tools.list({ caller: { user: identity.name } }).map((each) => each.name);
      if (tool && shown.includes(tool.name)) return describe(tool);
      const near = didYouMean(name, shown);
      throw near
        ? new ApiError("not_found", "There is no such tool", near)
        : notFound("There is no such tool", "tools");
    },
  };
}

function allGroupsOf(tool: AnyTool): string[] {
  const byName = Object.keys(TOOL_GROUPS).filter((group) => TOOL_GROUPS[group]?.includes(tool.name));
  return [...new Set([...byName, ...groupsOf(tool)])];
}

/** Undefined if it depends on the input; such a tool may also throw without one. */
function permissionOf(tool: AnyTool, defaultPermission: ToolPermission): ToolInfo["permission"] {
  try {
    if (tool.permission.length > 0) return undefined;
    const permission = tool.permission({});
    if (!(permission instanceof Promise)) return permission ?? (tool.isReadOnly ? "auto" : defaultPermission);
    permission.catch(() => undefined);
    return undefined;
  } catch {
    return undefined;
  }
}
