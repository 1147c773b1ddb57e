import type { BackendFactory, IQueueBackend } from "bullmq";

/** How many numbers before the last one may still be written: each of some dozen connections has a few under way. */
const LATE_WINDOW = 90n;

type Read = Awaited<ReturnType<IQueueBackend["readEvents"]>>;
type StreamEntry = [id: string, fields: string[]];

/**
 * BullMQ's backend, with listeners that miss nothing: events are numbered before they are committed, so that one with a
 * lower number may appear after one with a higher, and BullMQ reads on from the highest that it saw.
 */
export function postgresBackend(bullmq: typeof import("bullmq")): BackendFactory {
  class LateEventBackend extends bullmq.PostgresQueueBackend {
    readonly #seen = new Set<string>();

    override async readEvents(id: string, blockTimeout: number): Promise<Read> {
      const news = (await super.readEvents(id, blockTimeout)) as Read;
      if (id === "$" || id === "0") return this.#note(eventsOf(news));
      const last = BigInt(id);
      const from = last > LATE_WINDOW ? last - LATE_WINDOW : 0n;
      const late = eventsOf((await super.readEvents(String(from), 0)) as Read).filter(([each]) => BigInt(each) < last);
      return this.#note([...late, ...eventsOf(news)], id);
    }

    /** Those that were not told before; the last one is where the next question begins. */
    #note(read: StreamEntry[], cursor?: string): Read {
      const unseen = read.filter(([id]) => !this.#seen.has(id));
      for (const [id] of unseen) this.#seen.add(id);
      for (const id of this.#seen) {
        if (this.#seen.size <= 10 * Number(LATE_WINDOW)) break;
        this.#seen.delete(id);
      }
      if (unseen.length === 0) return null;
      const isBehind = cursor !== undefined && BigInt(unseen.at(-1)![0]) < BigInt(cursor);
      return [["events", isBehind ? [...unseen, [cursor, ["event", "reread"]]] : unseen]];
    }
  }
  const create: BackendFactory = (name, options, given = {}) => {
    if (!given.blocking) return bullmq.createPostgresBackend(name, options as never, given) as never;
    const connection = new bullmq.PostgresConnection(options.connection as never);
    return new LateEventBackend(connection, name, options as never) as never;
  };
  return create;
}

function eventsOf(read: Read): StreamEntry[] {
  return ((read as unknown as [string, StreamEntry[]][] | null)?.[0]?.[1] ?? []) as StreamEntry[];
}
