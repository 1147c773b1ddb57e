import { useEffect, useRef, useSyncExternalStore } from "react";
import type { CallFilter, CallInfo } from "../../../../src/contracts/calls.ts";
import { api, useApi } from "../../api.ts";

const PAGE = 50;
/** More rows would be higher than a browser can show. */
export const MAX_ROWS = 200_000;
/** Rows of calls that have not ended: their end may be older than the newest page. */
const MAX_LOOKED_UP = 20;
const LOOK_UP_MS = 3000;
/** Events make the list live. Some may be lost: a proxy, a computer that slept. */
const CHECK_MS = 5000;

/** Two callers may use the same id. */
export function keyOf({ callId, caller }: CallInfo): string {
  return `${callId} ${caller.session ?? ""} ${caller.agent ?? ""} ${caller.user ?? ""}`;
}

interface CallPage {
  items: readonly CallInfo[];
  next?: string;
}

/**
 * The calls of one filter, newest first, as far as they were loaded. What someone reads is not moved: calls change in their
 * place, and new ones wait until they may be added above.
 */
export class CallStream {
  readonly items: CallInfo[] = [];
  /** Where the list was scrolled to when it was left. */
  offset = 0;
  isLoaded = false;
  error: Error | undefined;
  readonly #filter: CallFilter;
  readonly #listeners = new Set<() => void>();
  /** Numbers of the rows by key. They count from the first row that was ever shown, so rows above do not change them. */
  readonly #numbers = new Map<string, number>();
  readonly #fresh = new Map<string, CallInfo>();
  #first = 0;
  #next: string | undefined;
  #isLoading = false;
  /** More calls came than one page has: the list starts again. */
  #hasGap = false;
  #newest: CallPage | undefined;
  #version = 0;
  #lookedUpAt = 0;

  constructor(
    readonly key: string,
    filter: CallFilter,
  ) {
    this.#filter = filter;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly version = (): number => this.#version;

  /** The row of the call with this key, or -1. */
  indexOf(key: string): number {
    const number = this.#numbers.get(key);
    return number === undefined ? -1 : number - this.#first;
  }

  /** New calls that are not shown yet. */
  get freshCount(): number {
    return this.#fresh.size;
  }

  get hasMore(): boolean {
    return this.#next !== undefined;
  }

  get isFull(): boolean {
    return this.items.length >= MAX_ROWS;
  }

  /** The newest page, as it is now. */
  take(page: CallPage, { mayAdd }: { mayAdd: boolean }): void {
    this.#newest = page;
    if (!this.isLoaded) return this.#restart(page);
    const added = page.items.filter((call) => !this.#replace(call));
    const isGap = this.items.length > 0 && added.length === page.items.length && page.next !== undefined;
    this.#hasGap ||= isGap;
    for (const call of added) this.#fresh.set(keyOf(call), call);
    if (mayAdd) this.showFresh();
    else this.#changed();
    this.#lookUpOpen(page);
  }

  showFresh(): void {
    if (this.#hasGap && this.#newest) return this.#restart(this.#newest);
    this.#prepend([...this.#fresh.values()].sort((a, b) => b.requestedAt - a.requestedAt));
    this.#fresh.clear();
    this.#changed();
  }

  loadMore(): void {
    if (this.#next === undefined || this.#isLoading || this.isFull) return;
    this.#isLoading = true;
    this.error = undefined;
    const before = this.#next;
    api.calls.list({ ...this.#filter, limit: PAGE, cursor: before }).then(
      (page) => {
        this.#isLoading = false;
        if (this.#next === before) this.#append(page);
        this.#changed();
      },
      (error: Error) => {
        this.#isLoading = false;
        this.error = error;
        this.#changed();
      },
    );
  }

  #restart(page: CallPage): void {
    this.items.length = 0;
    this.#numbers.clear();
    this.#fresh.clear();
    this.#first = 0;
    this.#hasGap = false;
    this.isLoaded = true;
    this.#append(page);
    this.#changed();
  }

  #append({ items, next }: CallPage): void {
    for (const call of items) {
      const key = keyOf(call);
      if (this.#numbers.has(key)) continue;
      this.#numbers.set(key, this.#first + this.items.length);
      this.items.push(call);
    }
    this.#next = next;
  }

  #prepend(calls: readonly CallInfo[]): void {
    for (const call of calls.toReversed()) {
      if (this.#replace(call)) continue;
      this.#numbers.set(keyOf(call), --this.#first);
      this.items.unshift(call);
    }
  }

  /** Whether there is such a row. */
  #replace(call: CallInfo): boolean {
    const number = this.#numbers.get(keyOf(call));
    if (number === undefined) return false;
    this.items[number - this.#first] = call;
    return true;
  }

  #lookUpOpen(page: CallPage): void {
    if (Date.now() - this.#lookedUpAt < LOOK_UP_MS) return;
    this.#lookedUpAt = Date.now();
    const newest = new Set(page.items.map(keyOf));
    const open = this.items.slice(0, 1000).filter((call) => isOpen(call) && !newest.has(keyOf(call)));
    for (const { callId } of open.slice(0, MAX_LOOKED_UP)) {
      api.calls.get(callId).then(
        ({ input: _input, updates: _updates, result: _result, children: _children, ...call }) => {
          if (this.#replace(call)) this.#changed();
        },
        // Pruned meanwhile: the row stays as it was.
        () => undefined,
      );
    }
  }

  #changed(): void {
    this.#version++;
    for (const listener of this.#listeners) listener();
  }
}

/** The last list, for the way back from a call. */
let last: CallStream | undefined;

/** `mayAdd`: whether new calls may be added above now. Give the component of the list the key of the filter as its own key. */
export function useCallStream(
  { key, query }: { key: string; query: CallFilter },
  mayAdd: () => boolean,
): { stream: CallStream; unsearched: number; error: Error | undefined; again: () => void } {
  const stream = useRef<CallStream>(undefined);
  stream.current ??= last?.key === key ? last : new CallStream(key, query);
  const current = (last = stream.current);
  useSyncExternalStore(current.subscribe, current.version);
  const head = useApi("calls", "list", [{ ...query, limit: PAGE }], { everyMs: CHECK_MS });
  const page = head.data;
  useEffect(() => {
    if (page) current.take(page, { mayAdd: mayAdd() });
  }, [page, current]);
  const error = current.error ?? (current.isLoaded ? undefined : (head.error ?? undefined));
  const again = (): void => (current.isLoaded ? current.loadMore() : void head.refetch());
  return { stream: current, unsearched: page?.unsearched ?? 0, error, again };
}

function isOpen({ status }: CallInfo): boolean {
  return status === "running" || status === "waiting" || status === "pending";
}
