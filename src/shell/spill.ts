/** Where output goes that does not fit in memory. Whoever starts a process decides what it is: a file, a store. */
export interface SpillSink {
  write(chunk: Buffer): void | Promise<void>;
  close(): Promise<{ ref: string }>;
}

export type OpenSpill = () => SpillSink | Promise<SpillSink>;

/** What became of the spill. A spill that failed or is full never fails the command: it only says so. */
export type SpillState =
  | { status: "none" }
  | { status: "open"; bytes: number }
  | { status: "closed"; ref: string; bytes: number; complete: boolean }
  | { status: "failed"; message: string };

export interface SpillWriter {
  /** Takes the chunk at once; a returned promise means: send nothing more before it resolves. */
  write(chunk: Buffer): Promise<void> | undefined;
  close(): Promise<SpillState>;
  readonly state: SpillState;
}

const HIGH_WATER_BYTES = 256 * 1024;

/** Writes in order, one write at a time, gathering what arrives meanwhile; at most `maxBytes` in all. */
export function createSpillWriter(open: OpenSpill, maxBytes: number): SpillWriter {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let accepted = 0;
  let complete = true;
  let sink: SpillSink | undefined;
  let writing: Promise<void> | undefined;
  let state: SpillState = { status: "open", bytes: 0 };

  async function writeWaiting(): Promise<void> {
    // `writing` must be set before this can clear it.
    await Promise.resolve();
    try {
      while (waiting.length > 0) {
        const batch = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
        waiting = [];
        sink ??= await open();
        await sink.write(batch);
        waitingBytes -= batch.length;
        if (state.status === "open") state.bytes += batch.length;
      }
    } catch (error) {
      fail(error);
      await sink?.close().catch(() => undefined);
    }
    writing = undefined;
  }

  function fail(error: unknown): void {
    state = { status: "failed", message: error instanceof Error ? error.message : String(error) };
    waiting = [];
    waitingBytes = 0;
  }

  return {
    write(chunk) {
      if (state.status !== "open" || !complete) return undefined;
      const room = maxBytes - accepted;
      const taken = chunk.length > room ? chunk.subarray(0, room) : chunk;
      complete = taken.length === chunk.length;
      accepted += taken.length;
      waiting.push(taken);
      waitingBytes += taken.length;
      writing ??= writeWaiting();
      return waitingBytes > HIGH_WATER_BYTES ? writing : undefined;
    },
    async close() {
      while (writing) await writing;
      if (state.status !== "open") return state;
      try {
        sink ??= await open();
        const { ref } = await sink.close();
        state = { status: "closed", ref, bytes: accepted, complete };
      } catch (error) {
        fail(error);
      }
      return state;
    },
    get state() {
      return state;
    },
  };
}
