import type { MaybePromise } from "../../core/stage.ts";

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
