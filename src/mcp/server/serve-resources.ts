import type { CompleteRequestParams, ReadResourceResult } from "@modelcontextprotocol/server";
import type { ServerSdk } from "../load-server-sdk.ts";
import type { McpPrompt, McpPromptSource } from "./mcp-prompt.ts";
import type { McpResource, McpResourceSource, McpResourceTemplate } from "./mcp-resource.ts";
import type { McpIdentity } from "./mcp-runtime.ts";

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
