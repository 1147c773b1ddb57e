import type { LoadedConfig } from "../config/load-config.ts";
import { systemClock } from "../core/clock.ts";
import { openBrowserProgram } from "../capabilities/browser.ts";
import { searchChain } from "../tools/web/search-providers.ts";
import type { Finding } from "./examine.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether there is one, and not more: it is not started. */
export async function examineBrowser(config: LoadedConfig, env: Environment): Promise<Omit<Finding, "what">> {
  if (config.value.browser.enabled === false) return { state: "ok", found: "switched off" };
  const { program = "", confined, problem } = await openBrowserProgram(config, { env, clock: systemClock }).status();
  if (problem !== undefined) return { state: "warning", found: "not ready:", next: problem };
  if (confined) return { state: "ok", found: program };
  return {
    state: "warning",
    found: `${program} runs without a sandbox of its own.`,
    next: "Run Haft as another user than root, or leave browser.confined as it is.",
  };
}

/** Which providers would be asked, in which order; none of them is. */
export function examineSearch({ value: { tools } }: LoadedConfig, env: Environment): Omit<Finding, "what"> {
  const chain = searchChain(tools.webSearch, env);
  const ready = chain.filter(({ missing }) => missing === undefined).map(({ provider }) => provider.name);
  const missing = chain.flatMap((link) => link.missing ?? []);
  const found = ready.length === 0 ? "no provider is ready." : ready.join(", then ");
  if (missing.length === 0) return { state: "ok", found };
  return { state: "warning", found, next: missing.join(" ") };
}
