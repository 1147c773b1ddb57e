import { type Call, type CallIn, note } from "../core/call.ts";
import { toolError, type ToolError, ToolNotFoundError } from "../core/error.ts";
import { nearestNames } from "../core/nearest-name.ts";
import { parseJson } from "../core/parse-json.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { Stage } from "../core/stage.ts";
import { calledName } from "../core/tool-catalog.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject } from "../schema/json-schema.ts";

/** Not worth a note. */
const DEFAULT_VERSION = "1.0.0";

/** Finds a tool by name in the caller's toolkit, else in the registry. Suggests only tools that the caller can see. */
export function resolve(registry: ToolRegistry, isShown: (tool: AnyTool) => boolean = () => true): Stage {
  return {
    name: "resolve",
    changes: [registry.changes],
    compile(tool) {
      if (registry.isSplit(tool) || tool.redirect) return undefined;
      return tool.version === DEFAULT_VERSION ? {} : { enter: (call) => note(call, "version", tool.version) };
    },
    enter(call: CallIn<"resolve">) {
      const named = call.tool ?? (call.scope ?? registry).get(call.requestedName);
      const tool = named?.redirect ? redirected(call, named, registry) : named;
      const isOutside = call.isDirect && call.scope && call.scope.get(call.requestedName) !== tool;
      if (!tool || isOutside) throw notFound(call, registry, isShown);
      // A named version, or a tool object, is used as it is.
      const isChosen = call.tool !== undefined || call.requestedName.includes("@");
      const split = isChosen ? undefined : registry.armOf(tool, call.caller.session ?? call.id);
      call.tool = split?.tool ?? tool;
      if (split) {
        note(call, "arm", split.arm);
        note(call, "version", split.tool.version);
      } else if (tool.version !== DEFAULT_VERSION) note(call, "version", tool.version);
    },
  };
}

/** The tool that the input means, if the caller has it. The call becomes one of that tool, with its own input and name. */
function redirected(call: CallIn<"resolve">, tool: AnyTool, registry: ToolRegistry): AnyTool {
  const input = inputOf(call.input);
  const meant = input && tool.redirect?.(input, calledName(tool, call.requestedName));
  const target = meant && (call.scope ?? registry).get(meant.name);
  // Whoever knows that a tool only reads can rely on it.
  if (!target || (tool.isReadOnly && !target.isReadOnly)) return tool;
  note(call, "redirectedFrom", call.requestedName);
  call.requestedName = target.name;
  call.input = meant.input;
  return target;
}

/** Undefined for an input that `validate` refuses. */
function inputOf(input: unknown): Record<string, unknown> | undefined {
  try {
    const parsed = typeof input === "string" ? parseJson(input) : input;
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function notFound(call: Call, registry: ToolRegistry, isShown: (tool: AnyTool) => boolean): ToolError {
  const scope = call.scope ?? registry;
  const name = call.requestedName;
  const names = scope.names().filter((candidate) => isShown(scope.get(candidate)!));
  const awaited = registry.awaited();
  const own = awaited.filter(({ prefix }) => name.startsWith(prefix));
  // No other tool is meant.
  const near = own.length > 0 ? [] : call.scope ? nearestNames(name, names) : registry.nearest(name, isShown);
  const next =
    near.length > 0
      ? `Did you mean ${near.map((candidate) => `"${candidate}"`).join(" or ")}?`
      : `Available: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}.`;
  const known = names.length > 0 ? next : "No tools are available.";
  const connecting = awaited.flatMap((source) => (source.isConnecting ? [JSON.stringify(source.name)] : []));
  const later = connecting.length === 0 ? [] : [`MCP servers that are still connecting: ${connecting.join(", ")}.`];
  // The same call may succeed later.
  if (own.some(({ needsPerson }) => !needsPerson))
    return toolError("unavailable", `"${name}" is not there yet`, {
      next: own.map(({ sentence }) => sentence).join(" "),
    });
  const advice = own.length > 0 ? own.map(({ sentence }) => sentence).join(" ") : [known, ...later].join(" ");
  if (!call.scope) return new ToolNotFoundError(name, advice, { near });
  return toolError("tool_not_found", call.scope.refusal(name), { next: advice, data: { near } });
}
