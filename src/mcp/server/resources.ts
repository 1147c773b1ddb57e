import { randomBytes } from "node:crypto";
import type {
  CompleteRequestParams,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { Content } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { ServerSdk } from "./mcp-service.ts";
import type { McpPrompt, McpPromptSource } from "./prompts.ts";
import type { McpIdentity, McpRuntime } from "./server-options.ts";

const MAX_VALUES = 100;

export async function listResources(sources: readonly McpResourceSource[], who: McpIdentity): Promise<McpResource[]> {
  const lists = await Promise.all(sources.map(async (source) => (await source.list?.(who)) ?? []));
  return lists.flat();
}

export function listTemplates(sources: readonly McpResourceSource[]): McpResourceTemplate[] {
  return sources.flatMap(({ templates = [] }) => templates);
}

export async function readResource(
  sources: readonly McpResourceSource[],
  { uri, who, sdk }: { uri: string; who: McpIdentity; sdk: ServerSdk },
): Promise<ReadResourceResult> {
  for (const source of sources) {
    const body = await source.read(uri, who);
    if (!body) continue;
    const { mimeType, text, blob } = body;
    const described = mimeType === undefined ? { uri } : { uri, mimeType };
    return { contents: [blob === undefined ? { ...described, text: text ?? "" } : { ...described, blob }] };
  }
  throw new sdk.ResourceNotFoundError(uri);
}

/** The values of an enumerated argument that begin with what was typed; then those that hold it. */
export async function completeArgument(
  { ref, argument }: CompleteRequestParams,
  options: { sources: readonly McpResourceSource[]; prompts: McpPromptSource | undefined; who: McpIdentity },
): Promise<{ completion: { values: string[]; total: number; hasMore: boolean } }> {
  const { sources, prompts, who } = options;
  const all = ref.type === "ref/prompt" ? await promptValues(ref.name) : await templateValues(ref.uri);
  const typed = argument.value.toLowerCase();
  const begins = all.filter((value) => value.toLowerCase().startsWith(typed));
  const holds = all.filter((value) => !begins.includes(value) && value.toLowerCase().includes(typed));
  const found = [...begins, ...holds];
  return {
    completion: { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES },
  };

  async function promptValues(name: string): Promise<readonly string[]> {
    const prompt = await findPrompt(prompts, name, who);
    return prompt?.arguments?.find((each) => each.name === argument.name)?.values ?? [];
  }

  async function templateValues(template: string): Promise<readonly string[]> {
    for (const source of sources) {
      const values = await source.valuesOf?.(template, argument.name, who);
      if (values) return values;
    }
    return [];
  }
}

export async function findPrompt(
  prompts: McpPromptSource | undefined,
  name: string,
  who: McpIdentity,
): Promise<McpPrompt | undefined> {
  return (await prompts?.list(who))?.find((prompt) => prompt.name === name);
}

type McpResource = Resource;
type McpResourceTemplate = ResourceTemplateType;

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
