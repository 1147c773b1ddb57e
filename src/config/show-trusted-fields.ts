import { hideSecrets, isSecretName, maskSecret } from "../core/mask-secret.ts";
import type { ConfigPath } from "./config-problem.ts";
import { isObject } from "./read-mcp-servers.ts";

/**
 * An entry as a person agrees to it. What runs is shown whole, so that nothing hides behind the look of a secret; hidden are
 * values of variables and headers, and passwords in addresses.
 */
export function showTrustedFields(fields: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(fields).filter(([key]) => key !== "name");
  return JSON.stringify(Object.fromEntries(shown.map(([key, value]) => [key, showField(key, value)])));
}

export function showTrustedSetting(path: ConfigPath, content: unknown): string {
  return JSON.stringify(hideIn(String(path.at(-1) ?? ""), content));
}

function showField(key: string, value: unknown): unknown {
  if (typeof value === "string") {
    if (/url$/i.test(key)) return hideSecrets(value);
    return isSecretName(key) ? hide(key, value) : value;
  }
  if (key === "env" || /headers$/i.test(key) || key === "oauth") return hideIn(key, value);
  return value;
}

function hideIn(name: string, value: unknown): unknown {
  if (typeof value === "string") return hide(name, value);
  if (Array.isArray(value)) return value.map((each) => hideIn(name, each));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, hideIn(key, each)]));
}

function hide(name: string, value: string): string {
  // A variable is no secret.
  if (/^(?:Bearer )?\$\{[\w:.]+\}$/i.test(value)) return value;
  if (isSecretName(name)) return maskSecret(name, value).value;
  // Options and commands, as NODE_OPTIONS has them, decide what runs.
  return /(?:^|\s)-|[;|$`]/.test(value) ? value : hideSecrets(value);
}
