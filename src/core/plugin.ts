import { adopt, type ForeignTool, type Registrable } from "./adopt/adopt.ts";
import { attributeTool } from "./create-tool.ts";
import { checkKeys, keysOf } from "./options.ts";
import type { ToolRegistry } from "./registry.ts";
import type { AnyTool } from "./tool.ts";

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
  /** As `haft.register`. */
  registerTool(tool: Registrable): AnyTool;
  registerTool(tool: ForeignTool): AnyTool;
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
      registerTool(candidate: Registrable | ForeignTool) {
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

function toPluginTool(candidate: Registrable | ForeignTool, manifest: PluginManifest): AnyTool {
  const tool = attributeTool(adopt(candidate), { origin: { type: "plugin", plugin: manifest.id } });
  if (manifest.tools && !manifest.tools.includes(tool.name)) {
    throw new TypeError(`Plugin "${manifest.id}" registers "${tool.name}", which its manifest does not list.`);
  }
  return tool;
}
