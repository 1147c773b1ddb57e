/** Which MCP servers of other programs may not be started. */
export interface ServerLimits {
  file: string;
  excluded: readonly ServerLimit[];
  /** If given, only servers that one of these matches. */
  allowed?: readonly ServerLimit[];
  /** If given, only these servers of the program's own lists. */
  only?: { setting: string; names: readonly string[] };
  /** The files that `only` is about, by how they end. */
  lists: readonly string[];
}

export interface ServerLimit {
  setting: string;
  name?: string;
  command?: readonly string[];
  url?: string;
}

/** What limits look at. Of a server that is not trusted only the name is known. */
export interface LimitedServer {
  name: string;
  file?: string;
  command?: string;
  args?: readonly string[];
  url?: string;
}

/** Why a server of another program may not be started; undefined if it may. */
export function limitOf(server: LimitedServer, limits: readonly ServerLimits[]): string | undefined {
  const isNameOnly = server.command === undefined && server.url === undefined;
  const matches = ({ name, command, url }: ServerLimit): boolean => {
    if (name !== undefined) return name === server.name;
    if (url !== undefined) return server.url !== undefined && matchesUrl(server.url, url);
    const line = [server.command, ...(server.args ?? [])].join("\0");
    return server.command !== undefined && line === command?.join("\0");
  };
  for (const { file, excluded, allowed } of limits) {
    const limit = excluded.find(matches);
    if (limit) return `${limit.setting} of ${file} names it`;
    if (allowed && !isNameOnly && !allowed.some(matches)) return `allowedMcpServers of ${file} does not name it`;
  }
  // Of several lists of one program each may add servers, as in Claude Code.
  const lists = limits.filter(({ only, lists: ends }) => only && ends.some((end) => server.file?.endsWith(end)));
  if (lists.length === 0 || lists.some(({ only }) => only?.names.includes(server.name))) return undefined;
  return `${lists.map(({ only, file }) => `${only?.setting} of ${file}`).join(" and ")} does not name it`;
}

/** `*` in a pattern is any text. */
function matchesUrl(url: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(url);
}
