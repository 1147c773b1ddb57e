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

/** Remembers what was approved, so that a server cannot change it behind the person's back. */
export interface PinStore {
  list(server: string): MaybePromise<readonly Pin[]>;
  /** Replaces the pin of the same server and tool. */
  put(pin: Pin): MaybePromise<void>;
  remove(server: string, tool?: string): MaybePromise<void>;
}

/** Forgets with the process: then every definition is new at each start. */
export class MemoryPinStore implements PinStore {
  readonly #pins = new Map<string, Map<string, Pin>>();

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
}
