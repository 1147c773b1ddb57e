import { errorMessage } from "../core/error.ts";
import { loadPlugins } from "../config/plugins.ts";
import { defineCapability } from "./capability.ts";

/** The configured plugins. One that fails is reported and left out. */
export const plugins = defineCapability({
  name: "plugins",
  config: ["plugins"],
  needs: ["runtime"],
  // After everything that registers tools: a plugin may look for them.
  uses: ["mcp", "agents", "sessions", "schedules"],
  async open({ config, warn, runtime }) {
    if (config.plugins.length === 0) return { value: undefined };
    const { plugins: loaded, failures } = await loadPlugins(config);
    for (const failure of failures) warn(failure.message);
    for (const { plugin } of loaded) {
      try {
        await runtime.use(plugin);
      } catch (error) {
        warn(`The plugin "${plugin.manifest.id}" was not installed: ${errorMessage(error)}`);
      }
    }
    return { value: undefined };
  },
});
