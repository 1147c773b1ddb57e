import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import type { AnyTool } from "../core/tool.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { findBrowser } from "../io/shell/find-program.ts";
import { shellEnvironment } from "../io/shell/shell-environment.ts";
import { createBrowserTool } from "../tools/browser/browser.ts";
import { type BrowserProgram, createBrowserProgram, createRefusedAddresses } from "../tools/browser/browser-program.ts";
import { createProfiles, type ProfileLimits } from "../tools/browser/browser-profiles.ts";
import { createPageRenderer, type PageRenderer } from "../tools/browser/page-renderer.ts";
import type { Workspace } from "../workspace.ts";

export interface BrowserHost {
  env: Readonly<Record<string, string | undefined>>;
  workspace: Pick<Workspace, "files">;
  clock: Clock;
}

export interface OpenBrowser {
  tools: readonly AnyTool[];
  /** Absent where the browser is switched off. */
  renderer?: PageRenderer;
  close(): Promise<void>;
}

/** Where a browser that was not installed by the system has its libraries and fonts. */
const LIBRARIES = ["LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE"];
const LIMITS: ProfileLimits = {
  maxProfiles: 8,
  maxTabs: 10,
  maxDownloadBytes: 50 * 1024 * 1024,
  idleMs: 15 * 60_000,
};

/** The browser, started when it is first needed. */
export function openBrowser(config: LoadedConfig, { env, workspace: { files }, clock }: BrowserHost): OpenBrowser {
  const settings = config.value.browser;
  if (settings.enabled === false) return { tools: [], close: async () => undefined };
  const program = openBrowserProgram(config, { env, clock });
  const downloadFolder = settings.downloads ?? "downloads";
  const profiles = createProfiles({ ...LIMITS, program, clock, downloadFolder });
  return {
    tools: [createBrowserTool({ program, profiles, files, downloadFolder })],
    renderer: createPageRenderer(program),
    async close() {
      await profiles.close();
      await program.close();
    },
  };
}

/** Every connection of its pages is checked as those of all web tools are. */
export function openBrowserProgram(
  { value: { browser: settings, network } }: LoadedConfig,
  { env, clock }: Pick<BrowserHost, "env" | "clock">,
): BrowserProgram {
  const { exceptions = [], hosts, proxyResolvesNames: resolvesNames } = network;
  const proxies = readProxyEnvironment(env, resolvesNames === undefined ? {} : { resolvesNames });
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
    env: shellEnvironment({ host: env, passOn: LIBRARIES }),
    confined: settings.confined,
  });
}
