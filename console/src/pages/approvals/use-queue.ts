import { useDeferredValue, useMemo, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useNeedsYou } from "../../needs-you.ts";
import { compareItems, isShown, type QueueItem, type QueueView, StableOrder, toItems } from "./queue.ts";

export interface Queue {
  /** In the order of the list. */
  items: readonly QueueItem[];
  /** Without filters. */
  all: readonly QueueItem[];
  /** They came after the list was sorted, and are at its end. */
  fresh: readonly QueueItem[];
  isLoaded: boolean;
  error: Error | null;
  /** Sorts again. */
  arrange: () => void;
  refetch: () => void;
}

/** Everything that waits for a person. `answered`: what this user has just answered. */
export function useQueue(view: QueueView, answered: ReadonlySet<string>): Queue {
  const { approvals: data, questions, error, refetch } = useNeedsYou();
  const [round, setRound] = useState(0);
  const order = useRef(new StableOrder());
  const all = useMemo(() => toItems(data ?? [], questions), [data, questions]);
  const text = useDeferredValue(view.text);
  const key = JSON.stringify([view, text, round]);
  const items = useMemo(() => {
    const found = all.filter((item) => isShown(item, { ...view, text }));
    return order.current.update({ items: found, compare: compareItems(view), key, answered });
  }, [all, key, answered]);
  return {
    items,
    all,
    fresh: order.current.fresh,
    isLoaded: data !== undefined,
    error,
    arrange: () => setRound((last) => last + 1),
    refetch,
  };
}

const NAMES = { risk: "risk", tool: "tool", session: "session", text: "q" } as const;

/** The view in the address: `#/approvals/ID?sort=age&tool=exec`. */
export function useQueueView() {
  const [path, go] = useLocation();
  const search = useSearch();
  return useMemo(() => {
    const query = new URLSearchParams(search);
    const view: QueueView = {
      sort: query.get("sort") === "age" ? "age" : "risk",
      bySession: query.get("group") === "session",
      risk: query.get(NAMES.risk) ?? "",
      tool: query.get(NAMES.tool) ?? "",
      session: query.get(NAMES.session) ?? "",
      text: query.get(NAMES.text) ?? "",
    };
    const tab = query.get("tab") === "answered" ? ("answered" as const) : ("open" as const);
    const change = (changes: Partial<QueueView>): void => {
      const next = { ...view, ...changes };
      for (const name of ["risk", "tool", "session", "text"] as const) set(query, NAMES[name], next[name]);
      set(query, "sort", next.sort === "risk" ? "" : next.sort);
      set(query, "group", next.bySession ? "session" : "");
      go(`${path}${queryText(query)}`, { replace: true });
    };
    /** The address of a card, or of the list, in the same view. */
    const addressOf = (id?: string): string =>
      `/approvals${id === undefined ? "" : `/${encodeURIComponent(id)}`}${queryText(query)}`;
    const chooseTab = (next: "open" | "answered"): void => {
      const fresh = new URLSearchParams();
      set(fresh, "tab", next === "answered" ? next : "");
      go(`/approvals${queryText(fresh)}`);
    };
    return { view, tab, change, addressOf, chooseTab };
  }, [search, path, go]);
}

function set(query: URLSearchParams, name: string, value: string): void {
  if (value === "") query.delete(name);
  else query.set(name, value);
}

function queryText(query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
