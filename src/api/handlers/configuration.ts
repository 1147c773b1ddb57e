import type { LoadedConfig } from "../../config/load-config.ts";
import type { configuration } from "../../contracts/configuration.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { hideSecrets, isSecretName } from "../../core/mask-secrets.ts";

/** The effective settings, each with its file and line, without secrets. */
export function createConfigurationApi({ origins }: Pick<LoadedConfig, "origins">): Handlers<typeof configuration> {
  return {
    show() {
      const effective = origins.filter(({ isOverridden }) => !isOverridden);
      return {
        entries: effective.map(({ path, value, origin, file, line }) => ({
          key: path,
          value: withoutSecrets(path, value),
          origin: file === undefined ? origin : `${file}${line === undefined ? "" : `:${line}`}`,
        })),
      };
    },
  };
}

function withoutSecrets(path: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  // Anyone who knows the address of a webhook can post to it.
  if (/^message\.channels\..+\.targets\./.test(path) && URL.canParse(value)) return "[hidden]";
  return path.split(/[.[\]]/).some(isSecretName) && value !== "" ? "[hidden]" : hideSecrets(value);
}
