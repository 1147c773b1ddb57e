import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { ReviewState } from "./mcp-hub.ts";

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

/** A definition that was approved: of one tool, or of how a server is started (`tool` is empty then). */
export interface Pin {
  server: string;
  tool: string;
  hash: string;
  /** As it was approved, to show what differs. */
  definition: string;
  pinnedAt: number;
}

/** Remembers what was approved and switched off, so that a server cannot change it behind the person's back. */
export interface PinStore {
  list(server: string): MaybePromise<readonly Pin[]>;
  /** Replaces the pin of the same server and tool. */
  put(pin: Pin): MaybePromise<void>;
  remove(server: string, tool?: string): MaybePromise<void>;
  /** The tools of a server that a person switched off. */
  switchedOff(server: string): MaybePromise<readonly string[]>;
  switchTool(server: string, tool: string, isOn: boolean): MaybePromise<void>;
}

/** Forgets with the process: then every definition is new at each start. */
export class MemoryPinStore implements PinStore {
  readonly #pins = new Map<string, Map<string, Pin>>();
  readonly #off = new Map<string, Set<string>>();

  list(server: string): Pin[] {
    return [...(this.#pins.get(server)?.values() ?? [])];
  }

  put(pin: Pin): void {
    const ofServer = this.#pins.get(pin.server) ?? new Map<string, Pin>();
    this.#pins.set(pin.server, ofServer.set(pin.tool, { ...pin }));
  }

  remove(server: string, tool?: string): void {
    if (tool === undefined) this.#pins.delete(server);
    else this.#pins.get(server)?.delete(tool);
  }

  switchedOff(server: string): string[] {
    return [...(this.#off.get(server) ?? [])].sort();
  }

  switchTool(server: string, tool: string, isOn: boolean): void {
    const off = this.#off.get(server) ?? new Set<string>();
    this.#off.set(server, off);
    if (isOn) off.delete(tool);
    else off.add(tool);
  }
}
