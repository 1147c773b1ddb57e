import { isLanguageModel, type LanguageModel } from "./language-model.ts";
import { toolError, type ToolError } from "../../core/error.ts";

/** Which model, and how it is reached. */
export interface ModelChoice {
  /** `provider/name`: `anthropic/claude-…`, `openai/gpt-…`, `ollama/qwen3`. The name may hold further slashes. */
  model: string;
  /** Of a server that speaks the OpenAI chat protocol. */
  baseUrl?: string | undefined;
  /** Where absent, `PROVIDER_API_KEY` of the environment. */
  apiKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  env?: Readonly<Record<string, string | undefined>>;
  /** How it is reached; the provider package's own way where absent. */
  fetch?: typeof globalThis.fetch;
  /** How packages are loaded. */
  load?: Load;
}

/** Servers that speak the OpenAI chat protocol; used where the provider's own package is not installed. */
const COMPATIBLE: Readonly<Record<string, string>> = {
  openai: "https://api.openai.com/v1",
  openrouter: "https://openrouter.ai/api/v1",
  deepseek: "https://api.deepseek.com/v1",
  groq: "https://api.groq.com/openai/v1",
  mistral: "https://api.mistral.ai/v1",
  moonshot: "https://api.moonshot.ai/v1",
  together: "https://api.together.xyz/v1",
  xai: "https://api.x.ai/v1",
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  vllm: "http://127.0.0.1:8000/v1",
};

const COMPATIBLE_PACKAGE = "@ai-sdk/openai-compatible";
const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|host\.docker\.internal)$/;

/** The model that a configuration names, from the provider package that the user has installed. */
export async function loadModel(choice: ModelChoice): Promise<LanguageModel> {
  const { model, env = process.env, load = (name: string) => import(name) as Promise<Module> } = choice;
  const at = model.indexOf("/");
  const provider = model.slice(0, at);
  const name = model.slice(at + 1);
  if (at < 1 || name === "" || !/^[a-z0-9][a-z0-9.-]*$/i.test(provider)) {
    throw toolError("invalid_input", `"${model}" names no model`, {
      next: "Write it as provider/name, such as ollama/qwen3 or anthropic/claude-sonnet-4-5.",
    });
  }
  const keyName = `${variableOf(provider)}_API_KEY`;
  const apiKey = choice.apiKey ?? env[keyName];
  const given = { ...choice, apiKey };
  const baseUrl = choice.baseUrl ?? COMPATIBLE[provider];
  // An address is named for a server of one's own, which speaks what all of them speak.
  const own = choice.baseUrl === undefined ? await importPackage(`@ai-sdk/${provider}`, load) : undefined;
  if (own) {
    const made = fromPackage(own, name, given);
    if (made) return made;
    throw toolError("missing_package", `"@ai-sdk/${provider}" has no language model that can be used here`, {
      next: "Install a newer version of it, or say baseUrl and use a server that speaks the OpenAI chat protocol.",
    });
  }
  if (baseUrl === undefined) throw missing(`@ai-sdk/${provider}`, `The model "${model}" needs its provider's package`);
  if (apiKey === undefined && !LOCAL.test(new URL(baseUrl).hostname)) {
    throw toolError("failed", `There is no API key for "${provider}"`, {
      next: `Set the variable ${keyName}, or agent.apiKey in the configuration.`,
    });
  }
  const compatible = await importPackage(COMPATIBLE_PACKAGE, load);
  const create = compatible?.["createOpenAICompatible"];
  if (typeof create !== "function") throw missing(COMPATIBLE_PACKAGE, `The model "${model}" needs a package`);
  const made: unknown = create({
    name: provider,
    baseURL: baseUrl,
    // Otherwise no server tells what a streamed answer has used.
    includeUsage: true,
    ...connection(given),
  });
  return checked(languageModelOf(made, name), COMPATIBLE_PACKAGE);
}

/** Where a person says that the model is: what the provider's package has of its own is public. */
export function addressesOf({ model, baseUrl, env = process.env }: ModelChoice): (string | undefined)[] {
  const provider = model.slice(0, Math.max(model.indexOf("/"), 0));
  return [baseUrl ?? COMPATIBLE[provider], env[`${variableOf(provider)}_BASE_URL`]];
}

function variableOf(provider: string): string {
  return provider.replace(/[^a-z0-9]/gi, "_").toUpperCase();
}

/** Every provider package exports a factory of providers, whose name begins with `create`. */
function fromPackage(own: Module, name: string, choice: ModelChoice): LanguageModel | undefined {
  for (const [exported, create] of Object.entries(own)) {
    if (!exported.startsWith("create") || typeof create !== "function") continue;
    const made = languageModelOf(create(connection(choice)), name);
    if (isLanguageModel(made)) return made;
  }
  return undefined;
}

function connection({ apiKey, headers, fetch }: ModelChoice): Record<string, unknown> {
  return { apiKey: apiKey || undefined, headers, fetch: fetch || undefined };
}

function languageModelOf(provider: unknown, name: string): unknown {
  if ((typeof provider !== "object" && typeof provider !== "function") || provider === null) return undefined;
  const { languageModel } = provider as { languageModel?: unknown };
  return typeof languageModel === "function" ? languageModel.call(provider, name) : undefined;
}

function checked(model: unknown, packageName: string): LanguageModel {
  if (isLanguageModel(model)) return model;
  throw toolError("missing_package", `The installed "${packageName}" is of a version that cannot be used`, {
    next: `npm install ${packageName}@latest`,
  });
}

type Module = Record<string, unknown>;
type Load = (packageName: string) => Promise<Module>;

/** Undefined where it is not installed. What is wrong inside of it is an error of its own. */
async function importPackage(name: string, load: Load): Promise<Module | undefined> {
  try {
    return await load(name);
  } catch (error) {
    if (error instanceof Error && error.message.includes(name)) return undefined;
    throw error;
  }
}

function missing(packageName: string, what: string): ToolError {
  return toolError("missing_package", `${what}, "${packageName}", which is not installed`, {
    next: `npm install ${packageName}`,
  });
}
