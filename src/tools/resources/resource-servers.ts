/** The MCP servers whose resources the tools of this family list and read. Texts of servers come made visible. */
export interface ResourceServers {
  /** Those that answer now. */
  names(): readonly string[];
  /** Whether the host trusts it: then nobody is asked before something of it is read. */
  isTrusted(server: string): boolean;
  list(server: string, signal: AbortSignal): Promise<{ resources: ListedResource[]; templates: ListedTemplate[] }>;
  read(server: string, uri: string, signal: AbortSignal): Promise<ResourceContent[]>;
}

export interface ListedResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** An address with places to fill in, as of RFC 6570. */
export interface ListedTemplate extends Omit<ListedResource, "uri" | "size"> {
  uriTemplate: string;
}

/** `blob`: in base64. */
export interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}
