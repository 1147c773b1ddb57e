import type { ConfigStatus } from "../../config/live-config.ts";
import { type LoadedConfig, untrustedNotice } from "../../config/load-config.ts";
import { showProblem } from "../../config/problems.ts";
import { bindingOf } from "../../config/setting-binding.ts";
import type { configuration, ConfigurationState } from "../../contracts/configuration.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { hideSecrets, isSecretName } from "../../core/secrets/mask-secrets.ts";

/** The effective settings, each with its file and line, without secrets. `config` follows its files. */
export function createConfigurationApi(
  config: Pick<LoadedConfig, "origins" | "untrusted" | "folder">,
  {
    status = () => ({ problems: [], restartNeeded: [] }),
    refresh,
  }: { status?: (() => ConfigStatus) | undefined; refresh?: (() => Promise<void>) | undefined } = {},
): Handlers<typeof configuration> {
  return {
    async show() {
      await refresh?.();
      const effective = config.origins.filter(({ isOverridden }) => !isOverridden);
      const state = stateOf(status());
      const isPending = (path: string): boolean =>
        state.restartNeeded.some(
          (key) => path === key || /^[.[]/.test(path.startsWith(key) ? path.slice(key.length) : ""),
        );
      return {
        entries: effective.map(({ path, value, origin, file, line }) => ({
          key: path,
          value: withoutSecrets(path, value),
          origin: file === undefined ? origin : `${file}${line === undefined ? "" : `:${line}`}`,
          binding: bindingOf(path) ?? "live",
          isPending: isPending(path),
        })),
        state,
        untrusted: config.untrusted.length > 0 ? untrustedNotice(config) : undefined,
      };
    },
  };
}

/** For people. */
export function stateOf({ problems, restartNeeded }: ConfigStatus): ConfigurationState {
  return { problems: problems.map(showProblem), restartNeeded: [...restartNeeded] };
}

function withoutSecrets(path: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  // Anyone who knows the address of a webhook can post to it.
  if (/^message\.channels\..+\.targets\./.test(path) && URL.canParse(value)) return "[hidden]";
  return path.split(/[.[\]]/).some(isSecretName) && value !== "" ? "[hidden]" : hideSecrets(value);
}
