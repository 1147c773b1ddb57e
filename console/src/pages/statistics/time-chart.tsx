import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

interface Series {
  label: string;
  /** A colour of the theme. */
  tone: string;
  values: readonly (number | null)[];
}

/** A line chart over time in the colours of the theme. */
export function TimeChart(props: {
  label: string;
  times: readonly number[];
  series: readonly Series[];
  unit?: string;
}) {
  const container = useRef<HTMLDivElement>(null);
  const { times, series, unit } = props;
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    let chart: uPlot | undefined;
    const draw = (): void => {
      chart?.destroy();
      const theme = getComputedStyle(document.documentElement);
      const colour = (name: string): string => theme.getPropertyValue(name).trim();
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
      chart = new uPlot(
        {
          width: Math.max(240, element.clientWidth - 20),
          height: 190,
          series: [
            {},
            ...series.map(({ label, tone }) => ({
              label,
              stroke: colour(tone),
              fill: `color-mix(in srgb, ${colour(tone)} 12%, transparent)`,
              width: 2,
              spanGaps: true,
              points: { show: true, size: 5 },
            })),
          ],
          axes: [
            axis,
            {
              ...axis,
              size: 56,
              values: (_chart, ticks) => ticks.map((tick) => (unit ? `${tick} ${unit}` : `${tick}`)),
            },
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
  }, [JSON.stringify([times, series, unit])]);
  return <div ref={container} className="chart" role="img" aria-label={props.label} />;
}
