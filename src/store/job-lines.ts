import type { Clock, Timer } from "../core/clock.ts";
import type { Update } from "../core/event.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Job, JobLogLine } from "../jobs/job.ts";
import { after } from "./after.ts";
import type { SqlTransaction } from "./sql-database.ts";
import { each, type WriteGroup } from "./write-group.ts";

const MAX_LINES = 1000;
const MAX_LINE_BYTES = 64 * 1024;
const WRITTEN_AFTER_MS = 20;
const LINES_BETWEEN_TRIMMINGS = 250;

type Line = Omit<JobLogLine, "number">;

/** What running jobs say, gathered for a moment before it is written: some say a thousand things a second. */
export class JobLines {
  readonly #clock: Clock;
  readonly #group: WriteGroup;
  readonly #writer: string;
  readonly #waiting = new Map<string, { lines: Line[]; progress: Update["progress"] }>();
  readonly #untilTrimming = new Map<string, number>();
  #timer: Timer | undefined;

  constructor({ clock, group, writer }: { clock: Clock; group: WriteGroup; writer: string }) {
    this.#clock = clock;
    this.#group = group;
    this.#writer = writer;
  }

  add({ id }: Job, update: Update): void {
    const waiting = this.#waiting.get(id) ?? { lines: [], progress: undefined };
    this.#waiting.set(id, waiting);
    waiting.lines.push({ at: this.#clock.now(), update });
    if (update.progress) waiting.progress = update.progress;
    if (waiting.lines.length > MAX_LINES) waiting.lines.shift();
    if (this.#timer) return;
    this.#timer = this.#clock.after(WRITTEN_AFTER_MS, () => void this.flush().catch(() => undefined));
    this.#timer.setRef(false);
  }

  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.size === 0) return Promise.resolve();
    return this.#group.add((tx) => each([...this.#waiting.keys()], (id) => this.write(tx, id)));
  }

  /** What this job has said so far. What a transaction that fails would have written is lost: it is said, not done. */
  write(tx: SqlTransaction, id: string): MaybePromise<void> {
    const waiting = this.#waiting.get(id);
    if (!waiting) return undefined;
    this.#waiting.delete(id);
    const { lines, progress } = waiting;
    const progressed = progress
      ? tx.run("UPDATE jobs SET progress = ? WHERE id = ?", [JSON.stringify(progress), id])
      : undefined;
    return after(progressed, () => this.append(tx, id, lines));
  }

  append(tx: SqlTransaction, id: string, lines: readonly Line[]): MaybePromise<void> {
    const numbered = tx.all<{ line: number }>("UPDATE jobs_head SET line = line + ? WHERE id = 1 RETURNING line", [
      lines.length,
    ]);
    return after(numbered, ([head]) => {
      let number = (head?.line ?? 0) - lines.length;
      const written = each(lines, ({ at, ...entry }) =>
        tx.run("INSERT INTO jobs_log (number, job, at, written_by, line) VALUES (?, ?, ?, ?, ?)", [
          ...[++number, id, at, this.#writer, fit(entry)],
        ]),
      );
      return after(written, () => this.#trim(tx, id, lines.length));
    });
  }

  forget(id: string): void {
    this.#untilTrimming.delete(id);
  }

  #trim(tx: SqlTransaction, id: string, added: number): MaybePromise<void> {
    const left = (this.#untilTrimming.get(id) ?? LINES_BETWEEN_TRIMMINGS) - added;
    this.#untilTrimming.set(id, left > 0 ? left : LINES_BETWEEN_TRIMMINGS);
    if (left > 0) return undefined;
    const trimmed = tx.run(
      "DELETE FROM jobs_log WHERE job = ? AND number <= " +
        "(SELECT number FROM jobs_log WHERE job = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
      [id, id, MAX_LINES],
    );
    return after(trimmed, () => undefined);
  }
}

function fit(line: Omit<Line, "at">): string {
  const text = JSON.stringify(line);
  if (text.length <= MAX_LINE_BYTES) return text;
  return JSON.stringify({ note: `An update of ${text.length} characters was too long to be kept.` });
}
