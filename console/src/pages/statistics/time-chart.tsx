import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { defineWords, type Language, useLanguage, useWords } from "../../language.tsx";
import { formatClock, formatDateTime, formatDuration, formatNumber } from "../../parts/format.ts";
import "uplot/dist/uPlot.min.css";

const words = defineWords({ time: ["Time", "时间"] });

interface Series {
  label: string;
  /** A colour of the theme. */
  tone: string;
  values: readonly (number | null)[];
}

/** Each amount is of its own time. */
const bars = uPlot.paths.bars?.({ size: [0.8, 24], align: 1 });

/** A chart over time in the colours of the theme. */
export function TimeChart(props: {
  label: string;
  times: readonly number[];
  series: readonly Series[];
  unit: "count" | "duration";
  /** A line for what is measured; bars, one before the other, for amounts. */
  isLine: boolean;
}) {
  const { language } = useLanguage();
  const w = useWords(words);
  const container = useRef<HTMLDivElement>(null);
  const { times, series, unit, isLine } = props;
  const format = (value: number): string =>
    unit === "duration" ? axisDuration(value) : Number.isInteger(value) ? formatNumber(value, language) : "";
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    let chart: uPlot | undefined;
    const draw = (): void => {
      chart?.destroy();
      const theme = getComputedStyle(document.documentElement);
      const colour = (name: string): string => theme.getPropertyValue(name).trim();
      const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
      chart = new uPlot(
        {
          width: Math.max(240, element.clientWidth - 20),
          height: 190,
          series: [
            { label: w.time, value: (_chart, at) => (at === null ? "" : formatDateTime(at * 1000, language)) },
            ...series.map(({ label, tone }) => ({
              value: (_chart: uPlot, value: number | null) =>
                value === null ? "" : unit === "duration" ? formatDuration(value) : formatNumber(value, language),
              label,
              stroke: colour(tone),
              fill: `color-mix(in srgb, ${colour(tone)} ${isLine ? 12 : 70}%, transparent)`,
              width: isLine ? 2 : 0,
              spanGaps: true,
              points: { show: isLine, size: 5 },
              ...(isLine ? {} : { paths: bars }),
            })),
          ],
          axes: [
            {
              ...axis,
              values: (_chart, ticks) => ticks.map((tick) => axisTime(tick * 1000, spanMs, language)),
            },
            { ...axis, size: 68, values: (_chart, ticks) => ticks.map(format) },
          ],
          scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, high * 1.1)] } },
          legend: { show: true },
        },
        [times.map((at) => at / 1000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
        element,
      );
    };
    draw();
    const resized = new ResizeObserver(draw);
    resized.observe(element);
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      chart?.destroy();
    };
  }, [JSON.stringify([times, series, unit, language])]);
  return <div ref={container} className="chart" role="img" aria-label={props.label} />;
}

const DAY_MS = 86_400_000;

/** Within a day the time, over several days the date. */
function axisTime(at: number, spanMs: number, language: Language): string {
  if (spanMs <= DAY_MS + 3_600_000) return formatClock(at, language).slice(0, 5);
  return formatDateTime(at, language).split(/,| \d{4}/)[0] ?? "";
}

/** Short: it has to fit beside the axis. */
export function axisDuration(ms: number): string {
  if (ms >= 3_600_000) return `${+(ms / 3_600_000).toFixed(1)} h`;
  if (ms >= 60_000) return `${+(ms / 60_000).toFixed(1)} min`;
  return ms >= 1000 ? `${+(ms / 1000).toFixed(1)} s` : `${+ms.toFixed(1)} ms`;
}
