import { declarationOf } from "../../core/definition.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { originGroups, TOOL_GROUPS } from "../../gate/permit/tool-groups.ts";
import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";
import type { Page, ToolInfo } from "../wire.ts";

export const tools: Resource<ApiContext> = {
  path: "/api/tools",
  routes: (api) => [
    route("GET /api/tools", {
      summary: "The tools that exist under this server's policy",
      scope: "read",
      query: [
        { name: "search", summary: "Best matches first" },
        { name: "group", summary: "`group:fs`, a category, or where a tool comes from" },
        { name: "kind", summary: "readonly, write or execute" },
      ],
      answers: "ToolPage",
      handle({ query, identity }) {
        const caller = { user: identity.name };
        const search = query.text("search");
        const group = query.text("group");
        const kind = query.text("kind");
        const found =
          search === undefined ? api.haft.tools({ caller }) : api.haft.search(search, { limit: 100, caller });
        const items = found
          .map((tool) => describeTool(tool, api))
          .filter((tool) => kind === undefined || tool.kind === kind)
          .filter((tool) => group === undefined || tool.category === group || tool.groups.includes(group));
        return json({ items } satisfies Page<ToolInfo>);
      },
    }),
    route("GET /api/tools/{name}", {
      summary: "One tool, by any of its names",
      scope: "read",
      answers: "ToolInfo",
      handle({ params, identity }) {
        const name = params["name"]!;
        const tool = api.haft.registry.get(name);
        // What policy hides is not there.
        const shown = api.haft.tools({ caller: { user: identity.name } });
        if (!tool || !shown.some((each) => each.name === tool.name)) {
          const near = didYouMean(
            name,
            shown.map((each) => each.name),
          );
          throw new HttpError("not_found", "There is no such tool", near ?? "Look at GET /api/tools.");
        }
        return json(describeTool(tool, api));
      },
    }),
  ],
};

function describeTool(tool: AnyTool, { haft, parts, numbers }: ApiContext): ToolInfo {
  const { name, title, description, kind, category, version, mode, origin } = tool;
  const { timeoutMs, maxConcurrent, maxResultBytes } = tool.limits;
  const permission = wishOf(tool);
  const verdict = parts.policy?.verdictOf?.(tool);
  const statistics = haft.getStats().callStats[name];
  return {
    name,
    title,
    description: description as ToolInfo["description"],
    kind,
    category,
    tags: [...tool.tags],
    aliases: [...tool.aliases],
    version,
    mode,
    permission,
    labels: [...tool.labels],
    groups: groupsOf(tool),
    origin,
    parameters: declarationOf(tool).parameters,
    output: tool.output?.jsonSchema,
    limits: {
      timeoutMs: typeof timeoutMs === "number" ? timeoutMs : undefined,
      maxConcurrent,
      maxResultBytes,
    },
    verdict,
    statistics: statistics ? numbers.ofTool(name, statistics) : undefined,
  };
}

function groupsOf(tool: AnyTool): string[] {
  const named = Object.entries(TOOL_GROUPS).filter(([, names]) => names.includes(tool.name));
  return [...named.map(([group]) => group), ...originGroups(tool)];
}

/** A wish that does not depend on the input; a tool whose wish needs one may throw without it. */
function wishOf(tool: AnyTool): ToolInfo["permission"] {
  try {
    if (tool.permission.length > 0) return undefined;
    return tool.permission({});
  } catch {
    return undefined;
  }
}
