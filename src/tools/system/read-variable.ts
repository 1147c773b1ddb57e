import type { SessionEnvironments } from "../../shell/session-environments.ts";
import { maskSecret } from "../../core/mask-secret.ts";

export interface EnvironmentOptions {
  environments: SessionEnvironments;
  /** Shows values that look like secrets; otherwise they are masked. */
  showSecrets?: boolean;
}

export interface ShownVariable {
  /** Null where the variable is not set. */
  value: string | null;
  masked: boolean;
}

/** A variable as the commands of a session get it, and as a model may see it. */
export function readVariable(
  name: string,
  session: string | undefined,
  { environments, showSecrets = false }: EnvironmentOptions,
): ShownVariable {
  const environment = environments.environmentOf(session);
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value === undefined) return { value: null, masked: false };
  return showSecrets ? { value, masked: false } : maskSecret(name, value);
}
