import { setTimeout } from "node:timers/promises";
import type { QueueEvents, QueueEventsProducer } from "bullmq";
import type { Clock, Timer } from "../core/clock.ts";
import type { BullEngine, BullQueue } from "./bullmq-engine.ts";
import { queueNameOf } from "./bullmq-record.ts";

/** What processes tell each other beside what BullMQ tells of its jobs. */
export type Notice =
  | { notice: "tool"; toolName: string }
  | { notice: "cancel"; jobId: string; round: number; reason: string }
  | { notice: "cancelled"; jobId: string };

const RECHECK_MS = 5_000;

/**
 * A queue for each tool that ever had a job, so that a worker takes only what it has a tool for; and what belongs to all of
 * them: the list of these tools, the jobs that were cancelled, and a channel for notices.
 */
export class ToolQueues {
  readonly engine: BullEngine;
  readonly cancelled: BullQueue;
  readonly #tools: BullQueue;
  readonly #producer: QueueEventsProducer;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #queues = new Map<string, BullQueue>();
  readonly #listeners = new Set<(notice: Notice) => void>();
  readonly #announced = new Set<string>();
  #events: QueueEvents | undefined;
  #timer: Timer | undefined;
  #closed = false;

  private constructor(engine: BullEngine, namespace: string, clock: Clock) {
    this.engine = engine;
    this.#namespace = namespace;
    this.#clock = clock;
    this.cancelled = engine.queue(`${namespace}.cancelled`);
    this.#tools = engine.queue(`${namespace}.tools`);
    this.#producer = engine.producer(`${namespace}.notices`);
  }

  static async open(engine: BullEngine, namespace: string, clock: Clock): Promise<ToolQueues> {
    const toolQueues = new ToolQueues(engine, namespace, clock);
    toolQueues.#events = await listenFromNow(engine, `${namespace}.notices`);
    (toolQueues.#events as NoticeSource).on("notice", ({ text }) =>
      toolQueues.#handleNotice(JSON.parse(text) as Notice),
    );
    await toolQueues.#look();
    toolQueues.#scheduleLook();
    return toolQueues;
  }

  /** Those that are known to have or have had jobs. */
  get tools(): ReadonlySet<string> {
    return this.#announced;
  }

  queueOf(toolName: string): BullQueue {
    let queue = this.#queues.get(toolName);
    if (!queue) this.#queues.set(toolName, (queue = this.engine.queue(this.nameOf(toolName))));
    return queue;
  }

  nameOf(toolName: string): string {
    return `${this.#namespace}.jobs.${queueNameOf(toolName)}`;
  }

  /** Before the first job of a tool: workers and listeners of all processes attend to its queue from then on. */
  async announce(toolName: string): Promise<void> {
    if (this.#announced.has(toolName)) return;
    await this.#tools.add(toolName, "", { jobId: `tool.${queueNameOf(toolName)}` });
    await this.publish({ notice: "tool", toolName });
    this.#handleNotice({ notice: "tool", toolName });
  }

  async publish(notice: Notice): Promise<void> {
    await this.#producer.publishEvent({ eventName: "notice", text: JSON.stringify(notice) });
  }

  /** Of a tool it is told once, and only where it was not known. */
  onNotice(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const closing = [this.#events, this.#producer, this.#tools, this.cancelled, ...this.#queues.values()];
    await Promise.allSettled(closing.map(async (each) => each?.close()));
  }

  #handleNotice(notice: Notice): void {
    if (notice.notice === "tool") {
      if (this.#announced.has(notice.toolName)) return;
      this.#announced.add(notice.toolName);
    }
    for (const listener of this.#listeners) listener(notice);
  }

  async #look(): Promise<void> {
    for (const { name } of await this.#tools.getJobs(["waiting"]))
      this.#handleNotice({ notice: "tool", toolName: name });
  }

  /** Whoever announces a tool may die before he tells. */
  #scheduleLook(): void {
    this.#timer = this.#clock.after(RECHECK_MS, () => {
      const again = (): void => void (this.#closed || this.#scheduleLook());
      this.#look().then(again, again);
    });
    this.#timer.setRef(false);
  }
}

interface NoticeSource {
  on(event: "notice", listener: (notice: { text: string }) => void): unknown;
  on(event: "hello", listener: () => void): unknown;
}

/** Hears everything that happens after it resolves: BullMQ listens from some moment after it said that it is ready. */
export async function listenFromNow(engine: BullEngine, name: string): Promise<QueueEvents> {
  const events = engine.events(name, "$");
  const producer = engine.producer(name);
  let isListening = false;
  (events as NoticeSource).on("hello", () => void (isListening = true));
  for (let waitMs = 5; !isListening; waitMs = Math.min(waitMs * 2, 200)) {
    await producer.publishEvent({ eventName: "hello" });
    await setTimeout(waitMs);
  }
  await producer.close();
  return events;
}
