import { isLanguageModel, type LanguageModel } from "./language-model.ts";
import { toolError, type ToolError } from "../../core/error.ts";

/** A model and its connection. */
export interface ModelChoice {
  /** `provider/name`: `anthropic/claude-…`, `openai/gpt-…`, `ollama/qwen3`. The name may contain slashes. */
  model: string;
  /** The address of a server with the OpenAI chat protocol. */
  baseUrl?: string | undefined;
  /** Default: `PROVIDER_API_KEY` of the environment. */
  apiKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  env?: Readonly<Record<string, string | undefined>>;
  /** Default: the fetch of the provider package. */
  fetch?: typeof globalThis.fetch;
  /** Loads packages. Default: `import`. */
  load?: Load;
}

/** Servers with the OpenAI chat protocol, used if the package of the provider is not installed. */
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

/** Loads the configured model from the provider package that the user has installed. */
export async function loadModel(choice: ModelChoice): Promise<LanguageModel> {
  const { model, env = process.env, load = (name: string): Promise<Module> => import(name) } = choice;
  const at = model.indexOf("/");
  const provider = model.slice(0, at);
  const name = model.slice(at + 1);
  if (at < 1 || name === "" || !/^[a-z0-9][a-z0-9.-]*$/i.test(provider)) {
    throw toolError("invalid_input", `"${model}" is not the name of a model`, {
      next: "Write it as provider/name, such as ollama/qwen3 or anthropic/claude-sonnet-4-5.",
    });
  }
  const keyName = `${variableOf(provider)}_API_KEY`;
  const apiKey = choice.apiKey ?? env[keyName];
  const given = { ...choice, apiKey };
  const baseUrl = choice.baseUrl ?? COMPATIBLE[provider];
  // A custom address means a server with the OpenAI chat protocol, so the provider package is not used.
  const providerPackage = choice.baseUrl === undefined ? await importPackage(`@ai-sdk/${provider}`, load) : undefined;
  if (providerPackage) {
    const created = fromPackage(providerPackage, name, given);
    if (created) return created;
    throw toolError("missing_package", `"@ai-sdk/${provider}" has no supported language model`, {
      next: "Install a newer version of it, or set baseUrl to a server with the OpenAI chat protocol.",
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
  const created: unknown = create({
    name: provider,
    baseURL: baseUrl,
    // Without it, servers report no usage for streamed answers.
    includeUsage: true,
    ...connection(given),
  });
  return checked(languageModelOf(created, name), COMPATIBLE_PACKAGE);
}

/** The configured addresses of the model. Default addresses of provider packages are public and not included. */
export function addressesOf({ model, baseUrl, env = process.env }: ModelChoice): (string | undefined)[] {
  const provider = model.slice(0, Math.max(model.indexOf("/"), 0));
  return [baseUrl ?? COMPATIBLE[provider], env[`${variableOf(provider)}_BASE_URL`]];
}

function variableOf(provider: string): string {
  return provider.replace(/[^a-z0-9]/gi, "_").toUpperCase();
}

/** Every provider package exports a provider factory whose name starts with `create`. */
function fromPackage(providerPackage: Module, name: string, choice: ModelChoice): LanguageModel | undefined {
  for (const [exported, create] of Object.entries(providerPackage)) {
    if (!exported.startsWith("create") || typeof create !== "function") continue;
    const created = languageModelOf(create(connection(choice)), name);
    if (isLanguageModel(created)) return created;
  }
  return undefined;
}

function connection({ apiKey, headers, fetch }: ModelChoice): Record<string, unknown> {
  return { apiKey: apiKey || undefined, headers, fetch: fetch || undefined };
}

function languageModelOf(provider: unknown, name: string): unknown {
  if ((typeof provider !== "object" && typeof provider !== "function") || provider === null) return undefined;
  const { languageModel }: { languageModel?: unknown } = provider;
  return typeof languageModel === "function" ? languageModel.call(provider, name) : undefined;
}

function checked(model: unknown, packageName: string): LanguageModel {
  if (isLanguageModel(model)) return model;
  throw toolError("missing_package", `The installed version of "${packageName}" is not supported`, {
    next: `npm install ${packageName}@latest`,
  });
}

type Module = Record<string, unknown>;
type Load = (packageName: string) => Promise<Module>;

/** Returns undefined if the package is not installed. Errors inside the package are thrown. */
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
