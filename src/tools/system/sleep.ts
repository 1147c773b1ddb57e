import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** A little less than the gate's limit of an hour, so the sleep ends before the call is cancelled. */
const MAX_SECONDS = 3590;
/** Between the end of the sleep and the time limit of the call. */
const SLACK_SECONDS = 5;

export function createSleepTool({ clock }: { clock: Clock }) {
  return createTool({
    name: "sleep",
    title: "Sleep",
    description: {
      short: "Waits for a number of seconds, then returns.",
      usageNotes: ["To wait for a command in the background, poll it instead: that returns sooner."],
      examples: [
        { input: { duration: 2 }, description: "two seconds" },
        { input: { duration: 0.25 }, description: "a quarter of a second" },
      ],
    },
    parameters: z.object({
      duration: z
        .number()
        .min(0)
        .max(MAX_SECONDS)
        .describe(`How long to wait, in seconds; fractions are possible, at most ${MAX_SECONDS}`),
    }),
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["time", "wait", "delay", "pause"],
    builtIn: {
      zh: { title: "等待", short: "等待若干秒后返回。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ slept: field.number("Seconds") }),
    // Whole seconds, because the gate has one timer per distinct time limit.
    limits: { timeoutMs: ({ duration }) => (Math.ceil(duration) + SLACK_SECONDS) * 1000 },
    async run({ duration }, { signal }) {
      const sleptMs = await sleep(duration * 1000, clock, signal);
      const slept = Math.round(sleptMs) / 1000;
      const message = signal.aborted ? `Stopped after ${slept} of ${duration} seconds.` : `Slept ${slept} seconds.`;
      return { content: [text(message)], display: message, details: { slept } };
    },
  });
}

/** Resolves to the elapsed time, at the end or on abort. */
function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<number> {
  const start = clock.monotonic();
  return new Promise((resolve) => {
    let timer: Timer | undefined;
    const end = (): void => {
      timer?.cancel();
      signal.removeEventListener("abort", end);
      resolve(clock.monotonic() - start);
    };
    // A timer may fire a little early; the sleep must not be shorter than requested.
    const wait = (): void => {
      const left = start + ms - clock.monotonic();
      if (left <= 0 || signal.aborted) end();
      else timer = clock.after(left, wait);
    };
    signal.addEventListener("abort", end);
    wait();
  });
}
