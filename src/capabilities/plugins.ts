import { loadPlugins, type PluginReference } from "../config/plugins.ts";
import { errorMessage } from "../core/error.ts";
import type { Plugin } from "../core/plugin.ts";
import { DEFAULT_TIMEOUTS } from "../gate/timeouts.ts";
import { defineCapability } from "./capability.ts";
import { markRemote } from "./process-guard.ts";
import type { PluginProcess } from "./plugin-host/plugin-process.ts";
import { type PluginVersion, versionsOf } from "./plugin-host/plugin-version.ts";

interface Opened {
  plugin: Plugin;
  isRemote: boolean;
  version: PluginVersion;
}

/** Bun has no message channel that keeps dates and maps, and no limit for the heap. */
const IS_BUN = process.versions["bun"] !== undefined;

/** The configured plugins, each in a process of its own. One that fails is reported and left out. */
export const plugins = defineCapability({
  name: "plugins",
  config: ["plugins"],
  needs: ["runtime"],
  // After everything that registers tools: a plugin may look for them.
  uses: ["mcp", "agents", "sessions", "schedules"],
  async open({ config, warn, runtime, clock }) {
    const versions = versionsOf(runtime);
    const references = config.plugins.filter(({ enabled }) => enabled);
    if (references.length === 0) return { value: undefined };
    const processes: PluginProcess[] = [];
    const open = async (reference: PluginReference): Promise<Opened> => {
      const version = await versions.read(reference);
      if (reference.inProcess || IS_BUN) {
        const { plugins: loaded, failures } = await loadPlugins({ plugins: [reference] });
        if (loaded[0]) return { plugin: loaded[0].plugin, isRemote: false, version };
        throw new Error(failures[0]?.message);
      }
      const [{ PluginProcess }, { remotePlugin }] = await Promise.all([
        import("./plugin-host/plugin-process.ts"),
        import("./plugin-host/remote-tools.ts"),
      ]);
      const graceMs = config.value.limits.grace ?? DEFAULT_TIMEOUTS.graceMs;
      const opened = await PluginProcess.open(reference, { clock, graceMs, version, warn });
      processes.push(opened);
      return { plugin: remotePlugin(opened), isRemote: true, version };
    };
    const ids = new Set<string>();
    // Started together, installed in the order of the configuration.
    const opening = references.map((reference) => Promise.allSettled([open(reference)]));
    for (const [index, [opened]] of (await Promise.all(opening)).entries()) {
      if (opened.status === "rejected") {
        const { from } = references[index] ?? { from: "" };
        const why = errorMessage(opened.reason);
        warn(why.startsWith("The plugin ") ? why : `The plugin "${from}" was not loaded: ${why}`);
        continue;
      }
      const { id } = opened.value.plugin.manifest;
      try {
        // A policy names a plugin by its id: another one would get its rights.
        if (ids.has(id)) throw new Error("another plugin has this id");
        ids.add(id);
        const tools = await runtime.tools.install(opened.value.plugin);
        if (opened.value.isRemote) markRemote(tools);
        versions.bind(opened.value.version, tools);
      } catch (error) {
        warn(`The plugin "${id}" was not installed: ${errorMessage(error)}`);
      }
    }
    return {
      value: undefined,
      async close() {
        await Promise.all(processes.map((process) => process.close()));
      },
    };
  },
});
