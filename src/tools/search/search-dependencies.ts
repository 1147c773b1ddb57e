import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../files/files.ts";
import { type ModifiedTimes, modifiedTimesByInfo } from "./newest-first.ts";
import { createRipgrep, type Ripgrep } from "./ripgrep.ts";

/** What the search tools are given. */
export interface SearchDependencies {
  files: Files;
  ripgrep?: Ripgrep;
  /** A quick look at many files; without it only short lists come newest first. */
  modifiedTimes?: ModifiedTimes;
  /** After this an answer comes with what was found. */
  timeLimitMs?: number;
}

/** The same for one call: its files are never more than the runtime allows. */
export interface SearchScope {
  files: Files;
  ripgrep: Ripgrep;
  times: ModifiedTimes;
  signal: AbortSignal;
  /** Milliseconds that are left, never none: what comes last may still answer with what there is. */
  timeLeft(): number;
}

const SEARCH_MS = 20_000;
/** What was found when time is up is still to be read. */
const READING_MS = 1_000;
/** For the gate: a call that does not end by itself. */
export const CALL_MS = 2 * SEARCH_MS;

export function createScopes(dependencies: SearchDependencies) {
  const { files, ripgrep = createRipgrep(), modifiedTimes, timeLimitMs = SEARCH_MS } = dependencies;
  return (context: ToolContext): SearchScope => {
    const allowed = files.narrow(context.allowedPaths, { callId: context.callId });
    const deadline = performance.now() + timeLimitMs;
    return {
      files: allowed,
      ripgrep,
      times: modifiedTimes ?? modifiedTimesByInfo(allowed),
      signal: context.signal,
      timeLeft: () => Math.max(Math.min(READING_MS, timeLimitMs), deadline - performance.now()),
    };
  };
}
