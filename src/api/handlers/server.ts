import type { Handlers } from "../../contracts/contract.ts";
import type { ApiHandlers } from "../../contracts/index.ts";
import { PartName, type server, type ServerInfo } from "../../contracts/server.ts";
import type { Haft } from "../../runtime.ts";

export interface ServerApiOptions {
  haft: Haft;
  startedAt: number;
  info?: Partial<Pick<ServerInfo, "version" | "workspace" | "store" | "sandbox">>;
  /** Read for each request: the handlers of this server, and what a person should know. */
  handlers(): ApiHandlers;
  /** The OpenAPI document of these handlers. */
  describe(version: string): Promise<Record<string, unknown>>;
  warnings(): readonly string[];
}

export function createServerApi(options: ServerApiOptions): Handlers<typeof server> {
  const { haft, startedAt, info: { version = "unknown", ...info } = {}, handlers, warnings } = options;
  return {
    health: () => ({ status: "ok" }),
    info: () => ({
      name: "haft",
      version,
      ...info,
      startedAt,
      parts: partsOf(handlers()),
      warnings: warnings(),
      load: haft.load(),
    }),
    openApi: () => options.describe(version),
  };
}

/** `rules` is the endpoint of `policy` that shows the effect of a rule. */
function partsOf(handlers: ApiHandlers): PartName[] {
  return PartName.options.filter((part) => handlers[part === "rules" ? "policy" : part] !== undefined);
}
