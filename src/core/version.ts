import type { AnyTool } from "./tool.ts";

/** `read@2` asks for version 2 of `read`; a plain name for the version that the registry holds as its default. */
export function parseVersionedName(asked: string): { name: string; version: string | undefined } {
  const at = asked.lastIndexOf("@");
  if (at <= 0) return { name: asked, version: undefined };
  return { name: asked.slice(0, at), version: asked.slice(at + 1) };
}

/** Whether `2` or `2.1` names the version `2.1.4`. */
export function matchesVersion(asked: string, version: string): boolean {
  return version === asked || version.startsWith(`${asked}.`);
}

/** The newest of those that match, compared number by number. */
export function newestMatch(asked: string, tools: readonly AnyTool[]): AnyTool | undefined {
  return tools
    .filter((tool) => matchesVersion(asked, tool.version))
    .sort((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }))[0];
}
