import type { AnyTool } from "./tool.ts";

/** `read@2` asks for version 2 of `read`; a plain name for the version that the registry holds as its default. */
export function parseVersionedName(requested: string): { name: string; version: string | undefined } {
  const at = requested.lastIndexOf("@");
  if (at <= 0) return { name: requested, version: undefined };
  return { name: requested.slice(0, at), version: requested.slice(at + 1) };
}

/** Whether `2` or `2.1` names the version `2.1.4`. */
function matchesVersion(requested: string, version: string): boolean {
  return version === requested || version.startsWith(`${requested}.`);
}

/** The newest of those that match, compared number by number. */
export function newestMatch(requested: string, tools: readonly AnyTool[]): AnyTool | undefined {
  const exact = tools.find(({ version }) => version === requested);
  if (exact) return exact;
  return tools
    .filter((tool) => matchesVersion(requested, tool.version))
    .sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** Number by number; a pre-release (`2.0.0-beta`) is older than what it leads to. */
function compareVersions(a: string, b: string): number {
  const [releaseA = "", preA] = a.split(/-(.*)/s);
  const [releaseB = "", preB] = b.split(/-(.*)/s);
  const byNumber = (left: string, right: string): number => left.localeCompare(right, "en", { numeric: true });
  if (releaseA !== releaseB || preA === preB) return byNumber(releaseA, releaseB);
  return preA === undefined ? 1 : preB === undefined ? -1 : byNumber(preA, preB);
}
