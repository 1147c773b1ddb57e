import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { Pin } from "./pin-store.ts";
import type { ReviewState } from "./server-status.ts";

/** Whether a tool is still what a person said yes to. */
export interface DefinitionReview {
  readonly state: ReviewState;
  readonly definition: string;
  /** What was approved before, where that differs. */
  readonly before: string | undefined;
  /** A person was shown the definition in this call. */
  shown(callId: string): void;
  /** Before the tool runs: takes the yes to the call for a yes to the definition that was shown with it, or refuses. */
  pass(callId: string, toolName: string): MaybePromise<void>;
  approve(): MaybePromise<void>;
}

export interface ReviewOptions {
  server: string;
  tool: string;
  definition: string;
  hash: string;
  pin: Pin | undefined;
  clock: Clock;
  save(pin: Pin): MaybePromise<void>;
}

const MAX_SHOWN = 100;

export function createDefinitionReview(options: ReviewOptions): DefinitionReview {
  const { server, tool, definition, hash, clock, save } = options;
  let { pin } = options;
  const shownIn = new Set<string>();
  const stateNow = (): ReviewState => (!pin ? "new" : pin.hash === hash ? "approved" : "changed");

  function approve(): MaybePromise<void> {
    pin = { server, tool, hash, definition, pinnedAt: clock.now() };
    shownIn.clear();
    return save(pin);
  }

  return {
    definition,
    get state() {
      return stateNow();
    },
    get before() {
      return pin?.hash === hash ? undefined : pin?.definition;
    },
    shown(callId) {
      if (shownIn.size >= MAX_SHOWN) shownIn.clear();
      shownIn.add(callId);
    },
    pass(callId, toolName) {
      const state = stateNow();
      if (state === "approved") return;
      // A first use that a rule let through is taken for what the rule's author meant; a change never is.
      if (state === "new" || shownIn.has(callId)) return approve();
      throw toolError("denied", `Permission denied: "${toolName}" has changed since it was approved`, {
        next: "Ask the person to look at the changed definition and approve it; do not repeat the call before.",
        data: { changedDefinition: true },
      });
    },
    approve,
  };
}
