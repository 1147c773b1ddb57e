import type { SchemaSource } from "../schema/infer.ts";
import { checkKeys, keysOf } from "./options.ts";
import { createTool, type ToolConfig } from "./create-tool.ts";
import type { Update } from "./events.ts";
import type { Registrable, ToolRegistry } from "./registry.ts";
import { type AnyTool, isTool, type ToolContext, type ToolOrigin } from "./tool.ts";

/** A plugin's declaration, read before its code runs. */
export interface PluginManifest {
  /** Also names its group in policies: `group:plugin:<id>`. */
  id: string;
  name?: string;
  version?: string;
  /** The tools that it may register. Default: any tool whose name is free. */
  tools?: readonly string[];
}

/** A package of tools that a host installs by name. */
export interface Plugin {
  /** Its id, version and tools. */
  manifest: PluginManifest;
  /** Called once, when the host names the plugin. */
  register(api: PluginApi): void | Promise<void>;
}

export interface PluginApi {
  readonly manifest: PluginManifest;
  /** With `execute(toolCallId, params, signal, onUpdate)`, or with `run(input, context)`. */
  registerTool(tool: AgentTool | Registrable): AnyTool;
}

const MANIFEST_KEYS = keysOf<PluginManifest>({ id: true, name: true, version: true, tools: true });
const PLUGIN_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Registers a plugin's tools, all or none: if one fails, the others are removed. */
export async function installPlugin(plugin: Plugin, registry: ToolRegistry): Promise<AnyTool[]> {
  const { manifest } = plugin;
  if (!PLUGIN_ID.test(manifest.id)) {
    throw new TypeError(
      `A plugin id has lower-case letters, digits and . _ - only; got ${JSON.stringify(manifest.id)}.`,
    );
  }
  checkKeys(`The manifest of plugin "${manifest.id}"`, manifest, MANIFEST_KEYS);
  const registered: AnyTool[] = [];
  let isOpen = true;
  try {
    await plugin.register({
      manifest,
      registerTool(candidate) {
        if (!isOpen) throw new Error(`Plugin "${manifest.id}" registers a tool after its register() has ended.`);
        const tool = registry.register(toPluginTool(candidate, manifest));
        registered.push(tool);
        return tool;
      },
    });
    return registered;
  } catch (error) {
    for (const tool of registered) registry.unregister(`${tool.name}@${tool.version}`);
    throw error;
  } finally {
    isOpen = false;
  }
}

function toPluginTool(candidate: AgentTool | Registrable, manifest: PluginManifest): AnyTool {
  if (isTool(candidate)) {
    throw new TypeError(
      `Plugin "${manifest.id}" must pass the definition of "${candidate.name}", not a finished tool.`,
    );
  }
  const name = candidate.name ?? candidate.id;
  if (manifest.tools && !manifest.tools.includes(name ?? "")) {
    throw new TypeError(`Plugin "${manifest.id}" registers "${name}", which its manifest does not list.`);
  }
  const origin = { type: "plugin", plugin: manifest.id } as const;
  if ("execute" in candidate && typeof candidate.execute === "function" && !("run" in candidate)) {
    return fromAgentTool(candidate as AgentTool, origin);
  }
  return createTool({ ...(candidate as Exclude<Registrable, AnyTool>), origin });
}

/** A tool whose code takes the call's id, the input, a signal and a listener for updates. */
export interface AgentTool extends Omit<ToolConfig<SchemaSource, SchemaSource, unknown>, "execute" | "run"> {
  /** Of the tool. */
  name: string;
  /** Its code. */
  execute(toolCallId: string, params: never, signal?: AbortSignal, onUpdate?: (update: Update) => void): unknown;
}

/** Makes a tool of an `AgentTool`. */
export function fromAgentTool({ execute, ...config }: AgentTool, origin: ToolOrigin = { type: "own" }): AnyTool {
  return createTool({
    ...config,
    origin,
    run: (input: unknown, context: ToolContext) =>
      execute(context.callId, input as never, context.signal, (update) => context.update(update)),
  } as ToolConfig<SchemaSource, SchemaSource, unknown>);
}
