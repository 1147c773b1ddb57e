import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { ReviewState } from "./mcp-hub.ts";

/** Whether the definition of a tool is the one that a person approved. */
export interface DefinitionReview {
  readonly state: ReviewState;
  readonly definition: string;
  /** The approved definition, if it differs. */
  readonly before: string | undefined;
  /** The approver of this call has seen the definition. */
  shown(callId: string): void;
  /** Called before the tool runs. If the approver has seen the definition, it is approved too; otherwise this throws. */
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

/** The pins of a server that are not of a tool: of its launch, and of the entry that a person trusted. No tool has these names. */
export const LAUNCH_PIN = "";
export const ENTRY_PIN = "@entry";

const MAX_SHOWN_CALLS = 100;

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
      if (shownIn.size >= MAX_SHOWN_CALLS) shownIn.clear();
      shownIn.add(callId);
    },
    pass(callId, toolName) {
      const state = stateNow();
      if (state === "approved") return;
      // A rule may allow the first use of a definition, but never a changed one.
      if (state === "new" || shownIn.has(callId)) return approve();
      throw toolError("denied", `Permission denied: "${toolName}" has changed since it was approved`, {
        next: "A person must approve the changed definition first. Repeat the call only after that.",
        data: { changedDefinition: true },
      });
    },
    approve,
  };
}

/** An approved definition of a tool, or an approved launch configuration (`tool` is empty). */
export interface Pin {
  server: string;
  tool: string;
  hash: string;
  /** The approved text, to show differences. */
  definition: string;
  pinnedAt: number;
}

/** Stores approved definitions and disabled tools, so a server cannot change them unnoticed. */
export interface PinStore {
  list(server: string): MaybePromise<readonly Pin[]>;
  /** Replaces the pin of the same server and tool. */
  put(pin: Pin): MaybePromise<void>;
  remove(server: string, tool?: string): MaybePromise<void>;
  /** The tools of a server that a person disabled. */
  switchedOff(server: string): MaybePromise<readonly string[]>;
  switchTool(server: string, tool: string, isOn: boolean): MaybePromise<void>;
}

/** Without persistence every definition is new at each start. */
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
