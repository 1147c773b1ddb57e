import type { LoadedConfig } from "../config/load-config.ts";
import { CloseStack } from "../core/close-stack.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { findBrowser } from "../io/shell/find-program.ts";
import { shellEnvironment } from "../io/shell/shell-environment.ts";
import { createBrowserTool } from "../tools/browser/browser.ts";
import { type BrowserProgram, createBrowserProgram, createRefusedAddresses } from "../tools/browser/browser-program.ts";
import { createProfiles, type ProfileLimits } from "../tools/browser/browser-profiles.ts";
import { createPageRenderer } from "../tools/browser/page-renderer.ts";
import { type CapabilityContext, defineCapability } from "./capability.ts";

/** Libraries and fonts of a browser that the system did not install. */
const LIBRARIES = ["LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE"];
const LIMITS: ProfileLimits = {
  maxProfiles: 8,
  maxTabs: 10,
  maxDownloadBytes: 50 * 1024 * 1024,
  idleMs: 15 * 60_000,
};

/** The browser. It is started when it is first needed. */
export const browser = defineCapability({
  name: "browser",
  config: ["browser", "network"],
  needs: ["workspace"],
  open({ config, env, clock, workspace: { files } }) {
    const { enabled, downloads: downloadFolder = "downloads" } = config.value.browser;
    if (enabled === false) return { value: undefined };
    const program = openBrowserProgram(config, { env, clock });
    const profiles = createProfiles({ ...LIMITS, program, clock, downloadFolder });
    const closing = new CloseStack();
    closing.push("browser", () => program.close());
    closing.push("browser profiles", () => profiles.close());
    return {
      value: createPageRenderer(program),
      tools: [createBrowserTool({ program, profiles, files, downloadFolder })],
      close: () => closing.close(),
    };
  },
});

/** The connections of its pages are checked like those of the web tools. */
export function openBrowserProgram(
  { value: { browser: settings, network } }: LoadedConfig,
  { env, clock }: Pick<CapabilityContext, "env" | "clock">,
): BrowserProgram {
  const { exceptions = [], hosts, proxyResolvesNames: resolvesNames } = network;
  const proxies = readProxyEnvironment(env, { resolvesNames });
  const openSocket = createOpenSocket({ exceptions, proxies, hosts: hosts || undefined });
  const refused = createRefusedAddresses();
  return createBrowserProgram({
    find: () => findBrowser({ named: settings.executable, env }),
    async startProxy() {
      const proxy = await startForwardProxy({
        openSocket,
        onRefused: (address, _why, error) => refused.note(address, error),
      });
      return { port: proxy.port!, close: proxy.close };
    },
    refused,
    clock,
    // When a browser starts: it looks for secrets in every variable.
    get env() {
      return shellEnvironment({ host: env, passOn: LIBRARIES });
    },
    confined: settings.confined,
  });
}
