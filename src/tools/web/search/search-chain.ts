import { nearestNames } from "../../../core/nearest-name.ts";
import { bing } from "./bing.ts";
import { bocha } from "./bocha.ts";
import { brave } from "./brave.ts";
import { duckduckgo } from "./duckduckgo.ts";
import { google } from "./google.ts";
import type { ProviderKeys, SearchProvider } from "./search-provider.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

export const SEARCH_PROVIDERS: readonly SearchProvider[] = [tavily, brave, google, bing, bocha, searxng, duckduckgo];

export interface ProviderSettings {
  provider: string;
  apiKey?: string | undefined;
  /** Another address than the provider's own; needed for searxng. */
  endpoint?: string | undefined;
  /** Of Google: which search engine. */
  engineId?: string | undefined;
}

export interface WebSearchSettings extends Partial<ProviderSettings> {
  maxResults?: number | undefined;
  /** Asked one after the other where those before fail. */
  fallbacks?: readonly ProviderSettings[] | undefined;
}

/** A provider that is asked in its turn, or why it cannot be. */
export interface ChainLink {
  provider: SearchProvider;
  keys: ProviderKeys;
  missing?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The configured providers; where none is, those that the environment has a key for, and DuckDuckGo, which needs none. */
export function searchChain(settings: WebSearchSettings = {}, env: Environment = {}): ChainLink[] {
  const { provider, apiKey, endpoint, engineId, fallbacks = [] } = settings;
  const named = [...(provider === undefined ? [] : [{ provider, apiKey, endpoint, engineId }]), ...fallbacks];
  if (named.length > 0) return named.map((one) => toLink(one, env));
  const found = SEARCH_PROVIDERS.map(({ name }) => toLink({ provider: name }, env));
  return found.filter(({ missing }) => missing === undefined);
}

/** Hosts that the configuration itself names as places to search: they may stand in a private network. */
export function searchHosts(settings: WebSearchSettings = {}, env: Environment = {}): string[] {
  return searchChain(settings, env).flatMap(({ provider, keys }) => {
    if (keys.endpoint === provider.endpoint || !URL.canParse(keys.endpoint)) return [];
    const { hostname, port, protocol } = new URL(keys.endpoint);
    return [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`];
  });
}

function toLink(given: ProviderSettings, env: Environment): ChainLink {
  const provider = SEARCH_PROVIDERS.find(({ name }) => name === given.provider.trim().toLowerCase());
  const keys: ProviderKeys = { apiKey: "", endpoint: provider?.endpoint ?? "", engineId: "" };
  if (!provider) return { provider: { ...duckduckgo, name: given.provider }, keys, missing: unknown(given.provider) };
  const missing: string[] = [];
  for (const key of ["apiKey", "endpoint", "engineId"] as const) {
    const variables = provider.needs[key] ?? [];
    const value = given[key] || variables.map((name) => env[name]).find(Boolean);
    if (value) keys[key] = value;
    else if (provider.needs[key]) {
      missing.push(`set ${variables.join(" or ")} in the environment, or tools.webSearch.${key} in the configuration`);
    }
  }
  if (!URL.canParse(keys.endpoint) && missing.length === 0)
    missing.push("tools.webSearch.endpoint must be a whole URL");
  if (missing.length === 0) return { provider, keys };
  return { provider, keys, missing: `${provider.name} is not set up: ${missing.join("; ")}` };
}

function unknown(name: string): string {
  const names = SEARCH_PROVIDERS.map((each) => each.name);
  const [near] = nearestNames(name, names);
  return `There is no search provider ${JSON.stringify(name)}${near ? ` (did you mean ${near}?)` : ""}; tools.webSearch.provider can be ${names.join(", ")}`;
}
