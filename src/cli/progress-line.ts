import { textOf } from "../core/content.ts";
import type { Update } from "../core/events.ts";
import { safeLine } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export interface ProgressLine {
  show(update: Update): void;
  /** Takes the line away, and keeps it away: a question stands there. */
  pause(): void;
  resume(): void;
  end(): void;
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const BAR = 20;
const SILENT: ProgressLine = {
  show: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  end: () => undefined,
};

/** One line on stderr that says that something goes on, and what was heard last; on a terminal only. */
export function createProgressLine({ stderr, env }: Pick<Terminal, "stderr" | "env">, title: string): ProgressLine {
  if (!stderr.isTTY || env["TERM"] === "dumb" || env["CI"]) return SILENT;
  let last = "";
  let drawn = false;
  let frame = 0;
  let isPaused = false;
  const draw = (): void => {
    if (isPaused) return;
    const width = (stderr.columns ?? 80) - 1;
    frame = (frame + 1) % FRAMES.length;
    const line = [...`${FRAMES[frame]} ${title}${last === "" ? "" : `  ${last}`}`].slice(0, width).join("");
    stderr.write(`\r\x1b[2K${line}`);
    drawn = true;
  };
  const clear = (): void => {
    if (drawn) stderr.write("\r\x1b[2K");
    drawn = false;
  };
  // What is over at once needs no line.
  let timer: NodeJS.Timeout | undefined = setTimeout(() => {
    draw();
    timer = setInterval(draw, 120).unref();
  }, 300).unref();
  return {
    show(update) {
      last = describe(update) ?? last;
    },
    pause() {
      isPaused = true;
      clear();
    },
    resume() {
      isPaused = false;
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      clear();
    },
  };
}

function describe({ progress, content = [] }: Update): string | undefined {
  const text = safeLine(progress?.message ?? textOf(content).trimEnd().split("\n").at(-1) ?? "");
  if (!progress?.total) return text === "" ? undefined : text;
  const done = Math.min(1, Math.max(0, progress.done / progress.total));
  const bar = "█".repeat(Math.round(done * BAR)).padEnd(BAR, "░");
  return `${bar} ${Math.round(done * 100)} %  ${text}`;
}
