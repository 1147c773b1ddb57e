import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolResult } from "../core/result.ts";
import { callKey } from "./calls.ts";
import { closingWorker, failedJob, hasEnded, type Job, type JobRequest } from "./job.ts";
import type { JobContext, JobEvent, JobOutcome, JobQueue, JobWorker, WorkOptions } from "./job-queue.ts";

export interface OpenedQueues {
  queue: JobQueue;
  /** The same jobs as another process has them; in memory, the same queue. */
  another(): Promise<JobQueue>;
  close(): Promise<void>;
}

/** What everybody may rely on, wherever jobs are kept. Nothing here measures time. */
export function describeJobQueue(name: string, open: () => Promise<OpenedQueues>): void {
  describe(`jobs in ${name}`, () => {
    let opened: OpenedQueues;
    let queue: JobQueue;
    beforeEach(async () => {
      opened = await open();
      queue = opened.queue;
    });
    afterEach(() => opened.close());

    test("what is submitted is queued, can be read as it was given, and is not run where nobody works", async () => {
      const given = request({ input: { text: "ü \0 \ud800 \u{1f600}", list: [1, null, { a: true }] } });
      const job = await queue.submit(given);
      expect(job).toMatchObject({ state: "queued", call: given.call, attempt: 0, attempts: 1, lost: 0, round: 1 });
      expect(await queue.get(job.id)).toEqual(job);
      expect(await queue.get("unknown")).toBeUndefined();
      expect(await queue.log("unknown")).toEqual([]);
    });

    test("a worker runs it, and its result can be read, also by other processes, when its end is reported", async () => {
      const another = await opened.another();
      const seen: (Job | undefined)[] = [];
      another.subscribe((event) => {
        if (event.type === "ended") void another.get(event.job.id).then((job) => seen.push(job));
      });
      await work(queue, { name: "worker one" });
      const ids: string[] = [];
      // A subscriber learns what happens after it has looked for the first time, which it does in the background.
      await until(async () => {
        ids.push((await ended(queue, await queue.submit(request()))).id);
        return seen.length > 0;
      });
      const expected = { state: "completed", attempt: 1, worker: "worker one", result: { details: 1 } };
      expect(seen[0]).toMatchObject(expected);
      expect(ids).toContain(seen[0]?.id);
      expect(seen[0]?.endedAt).toBeGreaterThan(0);
      expect(seen[0]?.startedAt).toBeGreaterThan(0);
    });

    test("a worker that wants nothing of other processes runs their jobs, and reports these again once it wants them", async () => {
      const another = await opened.another();
      if (another === queue) return;
      const ends: string[] = [];
      let wantsOthers = false;
      const note = (event: JobEvent): void => void (event.type === "ended" && ends.push(event.job.id));
      another.subscribe(note, () => wantsOthers);
      await work(another, { tools: () => ["tool"] });
      await work(queue, { tools: () => ["theirs"] });
      const own = await ended(queue, await queue.submit(request()));
      const theirs = await ended(queue, await queue.submit(request({ toolName: "theirs" })));
      await until(() => ends.includes(own.id));
      await ended(queue, await queue.submit(request()));
      expect(ends).not.toContain(theirs.id);
      wantsOthers = true;
      const later = await ended(queue, await queue.submit(request({ toolName: "theirs" })));
      await until(() => ends.includes(later.id));
    });

    test("facts are told in order: queued, started, ended", async () => {
      const facts: string[] = [];
      queue.subscribe(({ type }) => void facts.push(type));
      await work(queue);
      await ended(queue, await queue.submit(request()));
      await until(() => facts.includes("ended"));
      expect(facts).toEqual(["queued", "started", "ended"]);
    });

    test("a refused call makes a denied job, an unknown outcome an unknown one", async () => {
      const ending = (job: Job) => Object.assign(closingWorker(), { code: job.call.input });
      await work(queue, { run: async (job) => ({ result: failedJob(job, ending(job), 1) }) });
      expect(await ended(queue, await queue.submit(request({ input: "denied" })))).toMatchObject({ state: "denied" });
      const lost = await ended(queue, await queue.submit(request({ input: "unknown_outcome" })));
      expect(lost).toMatchObject({ state: "unknown" });
      const counts = await queue.counts();
      expect(counts).toMatchObject({ denied: 1, unknown: 1, failed: 0 });
    });

    test("a failed result makes a failed job, a cancelled one a cancelled job", async () => {
      await work(queue, {
        run: async (job) => ({ result: job.call.input === "stop" ? cancelledOf(job) : failedOf(job) }),
      });
      expect(await ended(queue, await queue.submit(request()))).toMatchObject({ state: "failed" });
      expect(await ended(queue, await queue.submit(request({ input: "stop" })))).toMatchObject({ state: "cancelled" });
    });

    test("higher priority comes first, and inside one the first that came", async () => {
      const jobs: Job[] = [];
      for (const [input, priority] of [
        ["a", 0],
        ["b", 5],
        ["c", 0],
        ["d", 5],
        ["e", -1],
        ["f", 0],
      ] as const) {
        jobs.push(await queue.submit({ ...request({ input }), priority }));
      }
      const order: unknown[] = [];
      await work(queue, {
        concurrency: 1,
        run: async (job) => {
          order.push(job.call.input);
          return { result: completedOf(job) };
        },
      });
      await Promise.all(jobs.map((job) => ended(queue, job)));
      expect(order).toEqual(["b", "d", "a", "c", "f", "e"]);
    });

    test("a delayed one lets the others pass, and runs in its time", async () => {
      const order: unknown[] = [];
      await work(queue, {
        run: async (job) => {
          order.push(job.call.input);
          return { result: completedOf(job) };
        },
      });
      const late = await queue.submit({ ...request({ input: "late" }), delayMs: 400 });
      expect(late).toMatchObject({ state: "delayed" });
      expect(late.runAt - late.createdAt).toBe(400);
      const soon = await queue.submit(request({ input: "soon" }));
      await Promise.all([ended(queue, late), ended(queue, soon)]);
      expect(order).toEqual(["soon", "late"]);
    });

    test("a worker takes only jobs of tools that it has", async () => {
      const foreign = await queue.submit(request({ toolName: "elsewhere" }));
      await work(queue);
      await ended(queue, await queue.submit(request()));
      expect(await queue.get(foreign.id)).toMatchObject({ state: "queued", attempt: 0 });
      await work(queue, { tools: () => ["elsewhere"] });
      expect(await ended(queue, foreign)).toMatchObject({ state: "completed" });
    });

    test("as many run at once as may, and never more", async () => {
      let running = 0;
      let max = 0;
      const gate = promise();
      await work(queue, {
        concurrency: 3,
        run: async (job) => {
          max = Math.max(max, ++running);
          if (running === 3) gate.resolve();
          await gate.done;
          running--;
          return { result: completedOf(job) };
        },
      });
      const jobs = await Promise.all(Array.from({ length: 12 }, () => queue.submit(request())));
      await Promise.all(jobs.map((job) => ended(queue, job)));
      expect(max).toBe(3);
    });

    test("two requests with one key are one job, also after its end; a job that did not run releases its key", async () => {
      const another = await opened.another();
      const [one, two] = await Promise.all([
        queue.submit({ ...request(), key: "k" }),
        another.submit({ ...request(), key: "k" }),
      ]);
      expect(two.id).toBe(one.id);
      const other = await queue.submit({ ...request(), key: "other" });
      expect(other.id).not.toBe(one.id);
      await queue.cancel(other.id);
      const again = await queue.submit({ ...request(), key: "other" });
      expect(again.id).not.toBe(other.id);
      await work(queue);
      await ended(queue, one);
      expect(await queue.submit({ ...request(), key: "k" })).toMatchObject({ id: one.id, state: "completed" });
    });

    test("cancelling one that waits ends it now, and it never runs", async () => {
      const ran: string[] = [];
      const queued = await queue.submit(request());
      const delayed = await queue.submit({ ...request(), delayMs: 60_000 });
      const facts = listen(queue);
      for (const { id } of [queued, delayed]) {
        expect(await queue.cancel(id, "no longer wanted")).toMatchObject({
          state: "cancelled",
          result: {
            status: "failed",
            error: { code: "cancelled", message: expect.stringContaining("no longer wanted") },
          },
        });
      }
      await work(queue, { run: async (job) => (ran.push(job.id), { result: completedOf(job) }) });
      await ended(queue, await queue.submit(request()));
      expect(ran).not.toContain(queued.id);
      await until(() => [queued, delayed].every((job) => endsOf(facts, job) > 0));
      expect(endsOf(facts, queued)).toBe(1);
      expect(endsOf(facts, delayed)).toBe(1);
    });

    test("cancelling a running one, also from elsewhere, aborts it, and it ends as its worker says", async () => {
      const another = await opened.another();
      const started = promise();
      await work(queue, {
        async run(job, { signal }) {
          started.resolve();
          await aborted(signal);
          return { result: failedJob(job, signal.reason, 1) };
        },
      });
      const job = await queue.submit(request());
      await started.done;
      await another.cancel(job.id, "enough");
      const end = await ended(queue, job);
      expect(end).toMatchObject({
        state: "cancelled",
        result: { error: { message: expect.stringContaining("enough") } },
      });
      expect(await another.cancel(job.id)).toEqual(end);
    });

    test("cancelling and repeating what is not there says so", async () => {
      await expect(queue.cancel("unknown")).rejects.toThrow(/no job "unknown"/);
      await expect(queue.retry("unknown")).rejects.toThrow(/no job "unknown"/);
    });

    test("what is to be made again is; a try that does not count is not counted", async () => {
      const attempts: number[] = [];
      await work(queue, {
        async run(job) {
          attempts.push(job.attempt);
          const tries = attempts.length;
          if (tries < 4) return { result: failedOf(job), again: { inMs: tries === 1 ? 5 : 0, counts: tries !== 2 } };
          return { result: completedOf(job) };
        },
      });
      const facts = listen(queue);
      const job = await queue.submit({ ...request(), attempts: 3 });
      expect(await ended(queue, job)).toMatchObject({ state: "completed", attempt: 3, result: { success: true } });
      expect(attempts).toEqual([1, 2, 2, 3]);
      await until(() => endsOf(facts, job) > 0);
      expect(endsOf(facts, job)).toBe(1);
    });

    test("an ended one can be made again, as a call of its own", async () => {
      let fails = true;
      await work(queue, { run: async (job) => ({ result: fails ? failedOf(job) : completedOf(job) }) });
      const job = await queue.submit(request({ callId: "c#1", idempotencyKey: "k" }));
      await ended(queue, job);
      const again = await queue.retry(job.id);
      expect(again).toMatchObject({ id: job.id, round: 2, call: { callId: "c#1#2" } });
      expect(again.call.idempotencyKey).toBeUndefined();
      expect(again.result).toBeUndefined();
      await ended(queue, job, 2);
      fails = false;
      expect((await queue.retry(job.id)).call.callId).toBe("c#1#3");
      const end = await ended(queue, job, 3);
      expect(end).toMatchObject({ state: "completed", attempt: 1, result: { callId: "c#1#3" } });
    });

    test("one is made again although another call has a key like that of its next round", async () => {
      await work(queue);
      const caller = { depth: 0 };
      const keyed = (callId: string, idempotencyKey: string) => ({
        ...request({ callId, idempotencyKey, caller }),
        key: callKey(caller, idempotencyKey),
      });
      const job = await queue.submit(keyed("c", "k"));
      const other = await queue.submit(keyed("d", "k#2"));
      for (const each of [job, other]) await ended(queue, each);
      expect(await queue.retry(job.id)).toMatchObject({ id: job.id, round: 2 });
      expect(await ended(queue, job, 2)).toMatchObject({ state: "completed" });
      expect(await queue.get(other.id)).toMatchObject({ state: "completed", round: 1 });
    });

    test("one that has not ended cannot be made again", async () => {
      const job = await queue.submit(request());
      await expect(queue.retry(job.id)).rejects.toThrow(/is queued/);
    });

    test("updates are kept in order, bounded, with the last progress, and told to all", async () => {
      const another = await opened.another();
      const received: number[] = [];
      const all = promise();
      another.subscribe((event) => {
        if (event.type !== "updated" || !event.update.progress) return;
        received.push(event.update.progress.done);
        if (event.update.progress.done === 3) all.resolve();
      });
      await work(queue, {
        async run(job, { update }) {
          for (const done of [1, 2, 3]) update({ progress: { done, total: 3 }, details: { done } });
          await all.done;
          for (let i = 0; i < 3000; i++) update({ details: i });
          return { result: completedOf(job) };
        },
      });
      const job = await queue.submit(request());
      const end = await ended(queue, job);
      expect(received).toEqual([1, 2, 3]);
      expect(end.progress).toEqual({ done: 3, total: 3 });
      const lines = await another.log(job.id);
      expect(lines.length).toBeLessThan(2500);
      expect(lines.map(({ number }) => number)).toEqual(lines.map(({ number }) => number).toSorted((a, b) => a - b));
      const last = lines.filter(({ update }) => update).at(-1)!;
      expect(last.update).toEqual({ details: 2999 });
      const later = await queue.log(job.id, { after: last.number - 1 });
      expect(later.map(({ number }) => number)).toContain(last.number);
      expect(later.every(({ number }) => number >= last.number)).toBe(true);
    });

    test("they are listed newest first, by state, tool and session, in pages, and counted", async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) {
        const session = i % 2 ? "odd" : "even";
        ids.push((await queue.submit(request({ caller: { session, depth: 0 } }))).id);
      }
      const foreign = await queue.submit({ ...request({ toolName: "elsewhere" }), delayMs: 60_000 });
      const idsOf = async (query: Parameters<JobQueue["list"]>[0]): Promise<string[]> =>
        (await queue.list(query)).map(({ id }) => id);
      expect(await idsOf({})).toEqual([foreign.id, ...ids.toReversed()]);
      expect(await idsOf({ toolName: "tool", limit: 2 })).toEqual([ids[4], ids[3]]);
      expect(await idsOf({ before: ids[3]!, limit: 2 })).toEqual([ids[2], ids[1]]);
      expect(await idsOf({ session: "odd" })).toEqual([ids[3], ids[1]]);
      await queue.cancel(ids[0]!);
      expect(await idsOf({ states: ["cancelled", "delayed"] })).toEqual([foreign.id, ids[0]]);
      expect(await queue.counts()).toEqual({
        ...{ delayed: 1, queued: 4, running: 0 },
        ...{ completed: 0, failed: 0, denied: 0, cancelled: 1, unknown: 0 },
      });
    });

    test("clearing cancels everything that has not begun, and nothing else", async () => {
      const started = promise();
      const go = promise();
      await work(queue, {
        concurrency: 1,
        run: async (job) => {
          started.resolve();
          await go.done;
          return { result: completedOf(job) };
        },
      });
      const running = await queue.submit(request());
      await started.done;
      const waiting = await Promise.all([
        queue.submit(request()),
        queue.submit(request()),
        queue.submit({ ...request(), delayMs: 60_000 }),
      ]);
      const facts = listen(queue);
      expect(await queue.clear("cleared")).toBe(3);
      for (const job of waiting) {
        expect(await queue.get(job.id)).toMatchObject({ state: "cancelled" });
        await until(() => endsOf(facts, job) === 1);
      }
      go.resolve();
      expect(await ended(queue, running)).toMatchObject({ state: "completed" });
    });

    test("a closing worker takes no more, and waits for what runs", async () => {
      const started = promise();
      const go = promise();
      const worker = await work(queue, {
        concurrency: 1,
        run: async (job) => {
          started.resolve();
          await go.done;
          return { result: completedOf(job) };
        },
      });
      const running = await queue.submit(request());
      await started.done;
      expect(worker.running).toBe(1);
      const closed = worker.close(60_000);
      const left = await queue.submit(request());
      go.resolve();
      await closed;
      expect(await queue.get(running.id)).toMatchObject({ state: "completed" });
      expect(await queue.get(left.id)).toMatchObject({ state: "queued", attempt: 0 });
    });

    test("what a closing worker cannot end in time is aborted, and handed to another", async () => {
      const started = promise();
      const reasons: unknown[] = [];
      const worker = await work(queue, {
        async run(job, { signal }) {
          started.resolve();
          await aborted(signal);
          reasons.push((signal.reason as { code?: string }).code);
          return { result: failedJob(job, closingWorker(), 1), again: { inMs: 0, counts: false } };
        },
      });
      const job = await queue.submit(request());
      await started.done;
      await worker.close(0);
      expect(reasons).toEqual(["shutdown"]);
      expect(await queue.get(job.id)).toMatchObject({ state: "queued", attempt: 0 });
      await work(await opened.another());
      expect(await ended(queue, job)).toMatchObject({ state: "completed", attempt: 1 });
    });

    test("several workers in several processes run every job once, and each subscriber gets each end once", async () => {
      const another = await opened.another();
      const ran: string[] = [];
      const run = async (job: Job): Promise<JobOutcome> => {
        ran.push(job.id);
        await Promise.resolve();
        return { result: completedOf(job) };
      };
      const facts = [listen(queue), listen(another)];
      await work(queue, { run, concurrency: 2 });
      await work(another, { run, concurrency: 2 });
      const submitted = Array.from({ length: 40 }, (_, i) => (i % 2 ? queue : another).submit(request()));
      const jobs = await Promise.all(submitted);
      await until(() => jobs.every((job) => facts.every((reported) => endsOf(reported, job) > 0)));
      expect(ran.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
      for (const job of jobs) expect(facts.map((reported) => endsOf(reported, job))).toEqual([1, 1]);
    });

    test("a listener that throws, and one that has left, change nothing", async () => {
      queue.subscribe(() => {
        throw new Error("not my day");
      });
      const received: JobEvent[] = [];
      queue.subscribe((event) => void received.push(event))();
      await work(queue);
      expect(await ended(queue, await queue.submit(request()))).toMatchObject({ state: "completed" });
      expect(received).toEqual([]);
    });

    test("closing ends the workers and keeps the jobs", async () => {
      const another = await opened.another();
      if (another === queue) return;
      const job = await another.submit(request({ toolName: "elsewhere" }));
      await work(another);
      await another.close();
      expect(await queue.get(job.id)).toMatchObject({ state: "queued" });
    });
  });
}

function work(queue: JobQueue, options: Partial<WorkOptions> = {}): Promise<JobWorker> {
  const run = async (job: Job, _context: JobContext): Promise<JobOutcome> => ({ result: completedOf(job) });
  return queue.work({ tools: () => ["tool"], concurrency: 4, run, ...options });
}

function request(call: Partial<JobRequest["call"]> = {}): JobRequest {
  return {
    call: {
      callId: "call",
      toolName: "tool",
      toolVersion: "1.0.0",
      input: {},
      caller: { depth: 0 },
      options: {},
      verdict: { decision: "allow", by: "tool", reason: "It asks for nothing." },
      idempotent: false,
      ...call,
    },
    priority: 0,
    delayMs: 0,
    attempts: 1,
  };
}

function completedOf({ call: { callId, toolName } }: Job): ToolResult {
  return {
    ...{ callId, toolName, status: "completed", success: true, content: [{ type: "text", text: "1" }], display: "1" },
    ...{ details: 1, metadata: {}, startedAt: 1, completedAt: 2, durationMs: 1 },
  };
}

function failedOf(job: Job): ToolResult {
  return failedJob(job, Object.assign(closingWorker(), { code: "failed" }), 1);
}

function cancelledOf(job: Job): ToolResult {
  return failedJob(job, Object.assign(closingWorker(), { code: "cancelled" }), 1);
}

/** The job once it has ended. The event may have been emitted before. */
async function ended(queue: JobQueue, { id }: Job, round = 1): Promise<Job> {
  let found: Job | undefined;
  await until(async () => {
    found = await queue.get(id);
    return found !== undefined && found.round === round && hasEnded(found);
  });
  return found!;
}

function listen(queue: JobQueue): JobEvent[] {
  const received: JobEvent[] = [];
  queue.subscribe((event) => void received.push(event));
  return received;
}

function endsOf(events: readonly JobEvent[], { id }: Job): number {
  return events.filter((event) => event.type === "ended" && event.job.id === id).length;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function promise(): { done: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const done = new Promise<void>((settle) => (resolve = settle));
  return { done, resolve };
}
