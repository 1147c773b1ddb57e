import type { Resource, ResourceTemplateType } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../core/stage.ts";
import type { McpIdentity } from "./mcp-runtime.ts";

export type McpResource = Resource;
export type McpResourceTemplate = ResourceTemplateType;

export interface McpResourceBody {
  mimeType?: string;
  text?: string;
  /** Base64. */
  blob?: string;
}

/** A family of resources. What it gives depends on who asks. */
export interface McpResourceSource {
  list?(who: McpIdentity): MaybePromise<readonly McpResource[]>;
  readonly templates?: readonly McpResourceTemplate[];
  /** Undefined for an address that is not of this family, or not this asker's. */
  read(uri: string, who: McpIdentity): MaybePromise<McpResourceBody | undefined>;
  /** All values that an argument of one of its templates can have. */
  valuesOf?(template: string, argument: string, who: McpIdentity): MaybePromise<readonly string[] | undefined>;
  /** Tells of changes: of one resource where it is named, else of the list. */
  onChanged?(listener: (uri?: string) => void): () => void;
}
