import type { BackendFactory, IQueueBackend } from "bullmq";

/** How many numbers before the last one may still be written: each of some dozen connections has a few under way. */
const MAY_COME_LATE = 90n;

type Read = Awaited<ReturnType<IQueueBackend["readEvents"]>>;
type Told = [id: string, fields: string[]];

/**
 * BullMQ's backend, with listeners that miss nothing: events are numbered before they are committed, so that one with a
 * lower number may appear after one with a higher, and BullMQ reads on from the highest that it saw.
 */
export function postgresBackend(bullmq: typeof import("bullmq")): BackendFactory {
  class PatientBackend extends bullmq.PostgresQueueBackend {
    readonly #seen = new Set<string>();

    override async readEvents(id: string, blockTimeout: number): Promise<Read> {
      const news = (await super.readEvents(id, blockTimeout)) as Read;
      if (id === "$" || id === "0") return this.#note(eventsOf(news));
      const last = BigInt(id);
      const from = last > MAY_COME_LATE ? last - MAY_COME_LATE : 0n;
      const late = eventsOf((await super.readEvents(String(from), 0)) as Read).filter(([each]) => BigInt(each) < last);
      return this.#note([...late, ...eventsOf(news)], id);
    }

    /** Those that were not told before; the last one is where the next question begins. */
    #note(read: Told[], cursor?: string): Read {
      const told = read.filter(([id]) => !this.#seen.has(id));
      for (const [id] of told) this.#seen.add(id);
      for (const id of this.#seen) {
        if (this.#seen.size <= 10 * Number(MAY_COME_LATE)) break;
        this.#seen.delete(id);
      }
      if (told.length === 0) return null;
      const isBehind = cursor !== undefined && BigInt(told.at(-1)![0]) < BigInt(cursor);
      return [["events", isBehind ? [...told, [cursor, ["event", "reread"]]] : told]];
    }
  }
  const create: BackendFactory = (name, options, given = {}) => {
    if (!given.blocking) return bullmq.createPostgresBackend(name, options as never, given) as never;
    const connection = new bullmq.PostgresConnection(options.connection as never);
    return new PatientBackend(connection, name, options as never) as never;
  };
  return create;
}

function eventsOf(read: Read): Told[] {
  return ((read as unknown as [string, Told[]][] | null)?.[0]?.[1] ?? []) as Told[];
}
