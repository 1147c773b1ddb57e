import { randomBytes } from "node:crypto";
import type { Content } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import type { McpResourceSource } from "./mcp-resource.ts";
import type { McpIdentity, McpRuntime } from "./mcp-runtime.ts";

const PREFIX = "haft://output/";
const MOST_OF_ONE = 200;
const MOST_READ = 4 * 1024 * 1024;

interface Kept {
  owner: string;
  ref: string;
  toolName: string;
  bytes: number;
}

/** Whole outputs that were too long for a result, each for who was given its address, and for nobody else. */
export class SpilledOutputs implements McpResourceSource {
  readonly #spill: McpRuntime["spill"];
  readonly #kept = new Map<string, Kept>();
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
    this.#kept.set(uri, { owner, ref: spill.ref, toolName, bytes: spill.bytes });
    const own = [...this.#kept].filter(([, kept]) => kept.owner === owner);
    if (own.length > MOST_OF_ONE) this.#kept.delete(own[0]![0]);
    for (const tell of this.#listeners) tell();
    const description = `The whole output of ${toolName}, ${spill.bytes} bytes`;
    return { type: "resource_link", uri, name: `output of ${toolName}`, description, mimeType: "text/plain" };
  }

  list({ id }: McpIdentity) {
    return [...this.#kept]
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
    const kept = this.#kept.get(uri);
    if (kept?.owner !== id) return undefined;
    const text = await this.#spill.read(kept.ref);
    if (text === undefined) return undefined;
    const isCut = text.length > MOST_READ;
    const rest = `\n[${text.length - MOST_READ} characters more; read them in parts with a file tool: ${kept.ref}]`;
    return { mimeType: "text/plain", text: isCut ? text.slice(0, MOST_READ) + rest : text };
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
