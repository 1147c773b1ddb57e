import { type RefObject, useRef } from "react";
import { defineWords, useWords } from "../language.tsx";
import { useKeys } from "./use-keys.ts";

const words = defineWords({ next: ["Next row", "下一行"], previous: ["Previous row", "上一行"] });

/** `j` and `k` move the focus between the rows of a list: its elements with `data-row`. Enter opens the row. */
export function useRowKeys<List extends HTMLElement>(): RefObject<List | null> {
  const w = useWords(words);
  const list = useRef<List>(null);
  const move = (step: 1 | -1): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const at = rows.findIndex((row) => row === document.activeElement);
    rows[at < 0 ? (step === 1 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
  };
  useKeys({ j: { label: w.next, run: () => move(1) }, k: { label: w.previous, run: () => move(-1) } });
  return list;
}
