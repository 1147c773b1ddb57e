import { resolve } from "node:path";
import type { ConfigOriginName, ConfigSource } from "./config-source.ts";

/** A plugin that a configuration names, where what it says is trusted. */
export interface PluginReference {
  /** A path or the name of a package, as it is written. */
  from: string;
  /** The path, resolved against the folder of the file that names it; absent for a package. */
  path?: string;
  enabled: boolean;
  /** The tools it may register, whatever it says of itself. */
  tools?: readonly string[];
  origin: ConfigOriginName;
  /** Where a package is looked for. */
  folder: string;
  file?: string;
}

/** Each once. Where one source disables what another names, it is disabled. */
export function listPlugins(sources: readonly ConfigSource[]): PluginReference[] {
  const references = new Map<string, PluginReference>();
  for (const { origin, folder, file, value } of sources) {
    for (const setting of value.plugins ?? []) {
      const { from, enabled = true, tools } = typeof setting === "string" ? { from: setting } : setting;
      const path = /^(\.{0,2}\/|[A-Za-z]:[\\/])/.test(from) ? resolve(folder, from) : undefined;
      const known = references.get(path ?? from);
      references.set(path ?? from, {
        from,
        ...(path === undefined ? {} : { path }),
        enabled: enabled && (known?.enabled ?? true),
        ...narrower(known?.tools, tools),
        origin,
        folder,
        ...(file === undefined ? {} : { file }),
      });
    }
  }
  return [...references.values()];
}

/** What both lists let through; an absent one lets everything through. */
export function narrower(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): { tools?: readonly string[] } {
  const tools = a && b ? b.filter((name) => a.includes(name)) : (a ?? b);
  return tools ? { tools } : {};
}
