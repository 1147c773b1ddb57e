import { type RefObject, useLayoutEffect, useMemo, useState } from "react";
import { flushSync } from "react-dom";

/** Rows that exist before and after the visible ones. */
const OVERSCAN = 10;
/** The list is drawn again after so many pixels. */
const STEP_PX = 26;

interface Rows {
  /** In the document now. */
  visible: readonly { index: number; start: number }[];
  /** The height of all rows. */
  height: number;
  /** Scrolls as far as needed. */
  show(index: number): void;
}

/** The rows on the screen of a list whose rows have known heights. `offset`: where it is scrolled to at first. */
export function useRows(
  box: RefObject<HTMLElement | null>,
  { count, heightOf, offset }: { count: number; heightOf: (index: number) => number; offset: number },
): Rows {
  const [top, setTop] = useState(offset);
  const [seen, setSeen] = useState(0);
  const starts = useMemo(() => {
    const sums = new Float64Array(count + 1);
    for (let index = 0; index < count; index++) sums[index + 1] = (sums[index] ?? 0) + heightOf(index);
    return sums;
  }, [count, heightOf]);
  useLayoutEffect(() => {
    const scroller = box.current;
    if (!scroller) return undefined;
    scroller.scrollTop = offset;
    const onScroll = (): void => flushSync(() => setTop(Math.floor(scroller.scrollTop / STEP_PX) * STEP_PX));
    const onResize = (): void => setSeen(scroller.clientHeight);
    onResize();
    const observer = new ResizeObserver(onResize);
    observer.observe(scroller);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, []);
  const startOf = (index: number): number => starts[index] ?? 0;
  /** The first row that ends after this pixel. */
  const rowAt = (pixel: number): number => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (startOf(middle + 1) > pixel) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const first = Math.max(0, rowAt(top) - OVERSCAN);
  const end = Math.min(count, rowAt(top + seen + STEP_PX) + 1 + OVERSCAN);
  return {
    visible: Array.from({ length: Math.max(0, end - first) }, (_, at) => ({
      index: first + at,
      start: startOf(first + at),
    })),
    height: startOf(count),
    show(index) {
      const scroller = box.current;
      if (!scroller) return;
      const { scrollTop, clientHeight } = scroller;
      scroller.scrollTop = Math.min(startOf(index), Math.max(scrollTop, startOf(index + 1) - clientHeight));
    },
  };
}
