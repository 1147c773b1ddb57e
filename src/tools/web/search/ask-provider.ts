import type { GuardedFetch } from "../../../net/guarded-net.ts";
import type { ChainLink } from "./search-chain.ts";
import type { SearchQuery, SearchResult } from "./search-provider.ts";

/** Why a provider gave nothing; each kind is for somebody else to mend. */
export interface SearchProblem {
  provider: string;
  kind: "missing_key" | "authorisation" | "quota" | "unavailable" | "bad_answer";
  message: string;
}

export type SearchAnswer = { results: SearchResult[] } | { problem: SearchProblem };

const MAX_BYTES = 4 * 1024 * 1024;
const QUOTA = /quota|rate.?limit|limit.?exceeded|out of call volume|too many requests|insufficient|余额|额度/i;
const REFUSED = /api.?key|token|unauthori[sz]ed|subscription|credential|permission/i;

/** Asks one provider; never throws but when the caller gave up. */
export async function callProvider(
  { provider, keys, missing }: ChainLink,
  query: SearchQuery,
  { fetch, signal }: { fetch: GuardedFetch; signal: AbortSignal },
): Promise<SearchAnswer> {
  const problem = (kind: SearchProblem["kind"], message: string): SearchAnswer => ({
    problem: { provider: provider.name, kind, message },
  });
  if (missing !== undefined) return problem("missing_key", missing);
  try {
    const limited = { ...query, limit: Math.min(query.limit, provider.maxResults) };
    const { url, ...request } = provider.ask(limited, keys);
    const { status, body } = await fetch(url, { ...request, signal, follow: "same-host", maxBytes: MAX_BYTES });
    const answer = body.toString("utf8");
    const refusal = refusalOf(status, answer);
    if (refusal === "authorisation")
      return problem(
        refusal,
        `${provider.name} does not accept the key (${status}); check ${namesOf(provider.needs.apiKey)}`,
      );
    if (refusal === "quota") return problem(refusal, `The quota at ${provider.name} is used up for now (${status})`);
    if (refusal) return problem(refusal, `${provider.name} answered with the status ${status}`);
    return { results: readResults(provider.read(answer), query.limit) };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const kind = error instanceof SyntaxError || !(error as { code?: unknown }).code ? "bad_answer" : "unavailable";
    return problem(
      kind,
      kind === "bad_answer" ? `${provider.name} cannot be understood: ${why}` : `${provider.name}: ${why}`,
    );
  }
}

function readResults(results: readonly SearchResult[], limit: number): SearchResult[] {
  const unique = new Map(results.map((result) => [result.url, result]));
  return [...unique.values()].slice(0, limit);
}

/** Some tell it by the status, some say 200 and tell it inside. */
function refusalOf(status: number, answer: string): "authorisation" | "quota" | "unavailable" | undefined {
  const inside = status === 200 ? codeInside(answer) : undefined;
  const code = inside ?? status;
  if (code === 200) return undefined;
  const beginning = answer.slice(0, 4000);
  if (code === 429 || code === 402 || code === 432 || code === 433) return "quota";
  if (code === 401) return "authorisation";
  if (code === 403) return QUOTA.test(beginning) ? "quota" : "authorisation";
  if (code === 400 || code === 422) return REFUSED.test(beginning) ? "authorisation" : "unavailable";
  return "unavailable";
}

function codeInside(answer: string): number | undefined {
  const code = /^\s*\{[^{}]{0,200}?"code"\s*:\s*"?(\d{3})\b/.exec(answer)?.[1];
  return code === undefined ? undefined : Number(code);
}

function namesOf(variables: readonly string[] = []): string {
  return [...variables, "tools.webSearch.apiKey"].join(" or ");
}
