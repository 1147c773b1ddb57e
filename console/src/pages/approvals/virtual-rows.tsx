import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

interface VirtualRowsProps<Row> {
  label: string;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  heightOf: (row: Row) => number;
  classOf?: (row: Row) => string;
  /** Rows are as high as their content; `heightOf` is only the first estimate. */
  isMeasured?: boolean;
  /** Rows that exist before and after the visible ones. */
  overscan?: number;
  /** The key of the row to scroll to, when it changes. */
  currentKey: string | undefined;
  children: (row: Row) => ReactNode;
}

/** A list of which only the visible rows exist: ten thousand rows cost no more than twenty. */
export function VirtualRows<Row>(props: VirtualRowsProps<Row>) {
  const { rows, keyOf, heightOf, currentKey } = props;
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => (rows[at] === undefined ? 0 : heightOf(rows[at])),
    getItemKey: (at) => (rows[at] === undefined ? at : keyOf(rows[at])),
    overscan: props.overscan ?? 8,
  });
  const currentAt = currentKey === undefined ? -1 : rows.findIndex((row) => keyOf(row) === currentKey);
  const shown = useRef<string>(undefined);
  // Only if another row is chosen: rows that come or go do not scroll the list.
  useEffect(() => {
    if (currentAt === -1 || shown.current === currentKey) return;
    shown.current = currentKey;
    virtual.scrollToIndex(currentAt, { align: "auto" });
  }, [currentAt, currentKey, virtual]);
  return (
    <div className="queue-scroll" ref={box}>
      <ul className="plain-list virtual-list queue" aria-label={props.label} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start, size }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <li
              key={key}
              className={props.classOf?.(row) ?? "queue-row"}
              ref={props.isMeasured ? virtual.measureElement : undefined}
              data-index={index}
              style={{ height: props.isMeasured ? undefined : size, transform: `translateY(${start}px)` }}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
            >
              {props.children(row)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
