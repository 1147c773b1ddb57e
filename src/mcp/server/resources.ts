import { randomBytes } from "node:crypto";
import type {
  CompleteRequestParams,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { Content } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import type * as ServerSdk from "./sdk.ts";
import type { McpIdentity, McpPrompt, McpPromptSource, McpResourceSource, McpRuntime } from "./server-options.ts";

const MAX_VALUES = 100;

export async function listResources(sources: readonly McpResourceSource[], identity: McpIdentity): Promise<Resource[]> {
  const lists = await Promise.all(sources.map(async (source) => (await source.list?.(identity)) ?? []));
  return lists.flat();
}

export function listTemplates(sources: readonly McpResourceSource[]): ResourceTemplateType[] {
  return sources.flatMap(({ templates = [] }) => templates);
}

export async function readResource(
  sources: readonly McpResourceSource[],
  { uri, identity, sdk }: { uri: string; identity: McpIdentity; sdk: typeof ServerSdk },
): Promise<ReadResourceResult> {
  for (const source of sources) {
    const body = await source.read(uri, identity);
    if (!body) continue;
    const { mimeType, text = "", blob } = body;
    return { contents: [blob === undefined ? { uri, mimeType, text } : { uri, mimeType, blob }] };
  }
  throw new sdk.ResourceNotFoundError(uri);
}

/** The values of an argument that start with the typed text, then those that contain it. */
export async function completeArgument(
  { ref, argument }: CompleteRequestParams,
  options: { sources: readonly McpResourceSource[]; prompts: McpPromptSource | undefined; identity: McpIdentity },
): Promise<{ completion: { values: string[]; total: number; hasMore: boolean } }> {
  const { sources, prompts, identity } = options;
  const all = ref.type === "ref/prompt" ? await promptValues(ref.name) : await templateValues(ref.uri);
  const typed = argument.value.toLowerCase();
  const starting = all.filter((value) => value.toLowerCase().startsWith(typed));
  const containing = all.filter((value) => !starting.includes(value) && value.toLowerCase().includes(typed));
  const found = [...starting, ...containing];
  return {
    completion: { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES },
  };

  async function promptValues(name: string): Promise<readonly string[]> {
    const prompt = await findPrompt(prompts, name, identity);
    return prompt?.arguments?.find((each) => each.name === argument.name)?.values ?? [];
  }

  async function templateValues(template: string): Promise<readonly string[]> {
    for (const source of sources) {
      const values = await source.valuesOf?.(template, argument.name, identity);
      if (values) return values;
    }
    return [];
  }
}

export async function findPrompt(
  prompts: McpPromptSource | undefined,
  name: string,
  identity: McpIdentity,
): Promise<McpPrompt | undefined> {
  return (await prompts?.list(identity))?.find((prompt) => prompt.name === name);
}

const PREFIX = "haft://output/";
const MAX_PER_OWNER = 200;
const MAX_READ = 4 * 1024 * 1024;

interface StoredOutput {
  owner: string;
  ref: string;
  toolName: string;
  bytes: number;
}

/** Full outputs that were too long for a result. Only the session that got the address can read it. */
export class SpilledOutputs implements McpResourceSource {
  readonly #spill: McpRuntime["calls"]["spill"];
  readonly #stored = new Map<string, StoredOutput>();
  readonly #listeners = new Set<(uri?: string) => void>();
  readonly templates = [
    {
      uriTemplate: `${PREFIX}{id}`,
      name: "output",
      title: "Full output of a call",
      description: "The full output of a truncated result, which contains its address.",
      mimeType: "text/plain",
    },
  ];

  constructor(spill: McpRuntime["calls"]["spill"]) {
    this.#spill = spill;
  }

  /** The link to the full output of a truncated result. */
  link({ metadata, toolName }: ToolResult, identity: McpIdentity): Content | undefined {
    const { spill } = metadata;
    if (!spill) return undefined;
    const owner = ownerOf(identity);
    const uri = PREFIX + randomBytes(12).toString("base64url");
    this.#stored.set(uri, { owner, ref: spill.ref, toolName, bytes: spill.bytes });
    const [oldest, ...others] = [...this.#stored].filter(([, stored]) => stored.owner === owner);
    if (oldest && others.length >= MAX_PER_OWNER) this.#stored.delete(oldest[0]);
    for (const notify of this.#listeners) notify();
    const description = `The full output of ${toolName}, ${spill.bytes} bytes`;
    return { type: "resource_link", uri, name: `output of ${toolName}`, description, mimeType: "text/plain" };
  }

  list(identity: McpIdentity) {
    return [...this.#stored]
      .filter(([, { owner }]) => owner === ownerOf(identity))
      .map(([uri, { toolName, bytes }]) => ({
        uri,
        name: `output of ${toolName}`,
        description: `The full output of a call of ${toolName}`,
        mimeType: "text/plain",
        size: bytes,
      }));
  }

  async read(uri: string, identity: McpIdentity) {
    const stored = this.#stored.get(uri);
    if (stored?.owner !== ownerOf(identity)) return undefined;
    const text = await this.#spill.read(stored.ref);
    if (text === undefined) return undefined;
    const isCut = text.length > MAX_READ;
    const rest = `\n[${text.length - MAX_READ} more characters; read them in parts with a file tool: ${stored.ref}]`;
    return { mimeType: "text/plain", text: isCut ? text.slice(0, MAX_READ) + rest : text };
  }

  valuesOf(template: string, _argument: string, identity: McpIdentity) {
    if (template !== `${PREFIX}{id}`) return undefined;
    return this.list(identity).map(({ uri }) => uri.slice(PREFIX.length));
  }

  onChanged(listener: (uri?: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function ownerOf({ id, session = "" }: McpIdentity): string {
  return JSON.stringify([id, session]);
}
