import { createEnvOverlay } from "./env-overlay.ts";
import type { EnvOverlay } from "./env-overlay.ts";
import { shellEnvironment } from "./shell-environment.ts";
import type { ShellEnvironmentOptions } from "./shell-environment.ts";

/** What each session has set, kept apart; calls without a session share one. */
export interface SessionEnvironments {
  /** To change what a session has set. Ask anew in each call: an overlay that was kept may have been dropped. */
  of(session: string | undefined): EnvOverlay;
  /** What a command of this session gets. */
  environmentOf(session: string | undefined, options?: { terminal?: boolean }): Record<string, string>;
}

export interface SessionEnvironmentsOptions extends Pick<ShellEnvironmentOptions, "host" | "passOn"> {
  /** Beyond it, the session that was not heard of for longest loses what it set. */
  maxSessions?: number;
}

export function createSessionEnvironments(options: SessionEnvironmentsOptions): SessionEnvironments {
  const { host, passOn = [], maxSessions = 256 } = options;
  // In the order of last use. Only sessions that set something are in it, so that readers push nobody out.
  const overlays = new Map<string | undefined, EnvOverlay>();

  const touch = (session: string | undefined, overlay: EnvOverlay): EnvOverlay => {
    overlays.delete(session);
    overlays.set(session, overlay);
    return overlay;
  };

  return {
    of(session) {
      const overlay = touch(session, overlays.get(session) ?? createEnvOverlay());
      if (overlays.size > maxSessions) overlays.delete(overlays.keys().next().value);
      return overlay;
    },
    environmentOf(session, { terminal = false } = {}) {
      const overlay = overlays.get(session);
      if (overlay) touch(session, overlay);
      return shellEnvironment({ host, passOn, terminal, ...(overlay ? { overlay } : {}) });
    },
  };
}
