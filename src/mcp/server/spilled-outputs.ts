import { randomBytes } from "node:crypto";
import type { Content } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import type { McpResourceSource } from "./mcp-resource.ts";
import type { McpIdentity, McpRuntime } from "./mcp-runtime.ts";

const PREFIX = "haft://output/";
const MAX_PER_OWNER = 200;
const MAX_READ = 4 * 1024 * 1024;

interface StoredOutput {
  owner: string;
  ref: string;
  toolName: string;
  bytes: number;
}

/** Whole outputs that were too long for a result, each for who was given its address, and for nobody else. */
export class SpilledOutputs implements McpResourceSource {
  readonly #spill: McpRuntime["spill"];
  readonly #stored = new Map<string, StoredOutput>();
  readonly #listeners = new Set<(uri?: string) => void>();
  readonly templates = [
    {
      uriTemplate: `${PREFIX}{id}`,
      name: "output",
      title: "Whole output of a call",
      description: "What was left out of a result; the result names its address.",
      mimeType: "text/plain",
    },
  ];

  constructor(spill: McpRuntime["spill"]) {
    this.#spill = spill;
  }

  /** The link for a result of which a part was kept elsewhere. */
  link({ metadata, toolName }: ToolResult, { id: owner }: McpIdentity): Content | undefined {
    const { spill } = metadata;
    if (!spill) return undefined;
    const uri = PREFIX + randomBytes(12).toString("base64url");
    this.#stored.set(uri, { owner, ref: spill.ref, toolName, bytes: spill.bytes });
    const own = [...this.#stored].filter(([, stored]) => stored.owner === owner);
    if (own.length > MAX_PER_OWNER) this.#stored.delete(own[0]![0]);
    for (const notify of this.#listeners) notify();
    const description = `The whole output of ${toolName}, ${spill.bytes} bytes`;
    return { type: "resource_link", uri, name: `output of ${toolName}`, description, mimeType: "text/plain" };
  }

  list({ id }: McpIdentity) {
    return [...this.#stored]
      .filter(([, { owner }]) => owner === id)
      .map(([uri, { toolName, bytes }]) => ({
        uri,
        name: `output of ${toolName}`,
        description: `The whole output of a call of ${toolName}`,
        mimeType: "text/plain",
        size: bytes,
      }));
  }

  async read(uri: string, { id }: McpIdentity) {
    const stored = this.#stored.get(uri);
    if (stored?.owner !== id) return undefined;
    const text = await this.#spill.read(stored.ref);
    if (text === undefined) return undefined;
    const isCut = text.length > MAX_READ;
    const rest = `\n[${text.length - MAX_READ} characters more; read them in parts with a file tool: ${stored.ref}]`;
    return { mimeType: "text/plain", text: isCut ? text.slice(0, MAX_READ) + rest : text };
  }

  valuesOf(template: string, _argument: string, who: McpIdentity) {
    if (template !== `${PREFIX}{id}`) return undefined;
    return this.list(who).map(({ uri }) => uri.slice(PREFIX.length));
  }

  onChanged(listener: (uri?: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
