import type { Handlers } from "../../contracts/contract.ts";
import type { Contracts } from "../../contracts/index.ts";
import { PartName, type server, type ServerInfo } from "../../contracts/server.ts";
import type { Haft } from "../../runtime.ts";

export interface ServerApiOptions {
  haft: Haft;
  startedAt: number;
  info?: Partial<Pick<ServerInfo, "version" | "workspace" | "store" | "sandbox">>;
  /** Whether this server has a resource. */
  has(resource: keyof Contracts): boolean;
  /** The OpenAPI document. */
  describe(version: string): Promise<Record<string, unknown>>;
  /** What a person should know. */
  warnings(): readonly string[];
}

export function createServerApi(options: ServerApiOptions): Handlers<typeof server> {
  const { haft, startedAt, info: { version = "unknown", ...info } = {}, has, warnings } = options;
  return {
    health: () => ({ status: "ok" }),
    info: () => ({
      name: "haft",
      version,
      ...info,
      startedAt,
      // `rules` is the endpoint of `policy` that shows the effect of a rule.
      parts: PartName.options.filter((part) => has(part === "rules" ? "policy" : part)),
      warnings: warnings(),
      load: haft.load(),
    }),
    openApi: () => options.describe(version),
  };
}
