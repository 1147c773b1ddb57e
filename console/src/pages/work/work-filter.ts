import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { RiskLevel, ToolKind } from "../../../../src/contracts/basics.ts";
import { type CallFacetName, type CallFilter, CallStatus } from "../../../../src/contracts/calls.ts";

/** The spans of time that one click chooses, in milliseconds. */
export const SPANS = { "15m": 900_000, "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
export type Span = keyof typeof SPANS;

/** Several values may be chosen of these. */
const LISTS: ReadonlySet<CallFacetName> = new Set(["status", "risk", "kind"]);

export interface WorkFilter {
  /** What the server gets. */
  query: CallFilter;
  /** Identifies the filter. */
  key: string;
  span: Span | undefined;
  isGrouped: boolean;
  /** The number of chosen filters, without the search. */
  count: number;
  isChosen(name: CallFacetName, value: string): boolean;
  toggle(name: CallFacetName, value: string): void;
  /** Whether exactly these states are chosen. */
  isOnly(states: readonly CallStatus[]): boolean;
  /** Only these states, or all if they are chosen already. */
  only(states: readonly CallStatus[]): void;
  search(text: string): void;
  chooseSpan(span: Span | undefined): void;
  chooseTimes(from: number | undefined, to: number | undefined): void;
  group(isGrouped: boolean): void;
  clear(): void;
}

let lastQuery = "";

/** The list as it was left, with its filter. */
export function lastListPath(): string {
  return lastQuery === "" ? "/work" : `/work?${lastQuery}`;
}

/** The filter of the work page. All of it is in the address, so a link and a reload show the same calls. */
export function useWorkFilter(): WorkFilter {
  const [params, setParams] = useSearchParams();
  const text = (lastQuery = params.toString());
  // The start of a span stays the same until something else is chosen: each change would be another list.
  const query = useMemo(() => readQuery(new URLSearchParams(text)), [text]);
  const change = (edit: (params: URLSearchParams) => void): void => {
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        edit(next);
        return next;
      },
      { replace: true },
    );
  };
  const set = (params: URLSearchParams, name: string, value: string | undefined): void => {
    if (value === undefined || value === "") params.delete(name);
    else params.set(name, value);
  };
  const isChosen = (name: CallFacetName, value: string): boolean => params.getAll(name).includes(value);
  const isOnly = (states: readonly CallStatus[]): boolean =>
    params.getAll("status").length === states.length && states.every((each) => isChosen("status", each));
  const others = new URLSearchParams(params);
  others.delete("group");
  const key = others.toString();
  others.delete("q");
  const span = params.get("span");
  return {
    query,
    key,
    span: span !== null && isSpan(span) ? span : undefined,
    isGrouped: params.get("group") === "session",
    // Only what this page knows: anything may stand in an address.
    count: [...others].filter(([name]) => KNOWN.has(name)).length,
    isChosen,
    toggle(name, value) {
      change((next) => {
        const rest = next.getAll(name).filter((each) => each !== value);
        const chosen = isChosen(name, value) ? rest : LISTS.has(name) ? [...rest, value] : [value];
        next.delete(name);
        for (const each of chosen) next.append(name, each);
      });
    },
    isOnly,
    only: (states) =>
      change((next) => {
        next.delete("status");
        if (!isOnly(states)) for (const each of states) next.append("status", each);
      }),
    search: (search) => change((next) => set(next, "q", search)),
    chooseSpan: (chosen) =>
      change((next) => {
        next.delete("from");
        next.delete("to");
        set(next, "span", chosen);
      }),
    chooseTimes: (from, to) =>
      change((next) => {
        next.delete("span");
        set(next, "from", from?.toString());
        set(next, "to", to?.toString());
      }),
    group: (isGrouped) => change((next) => set(next, "group", isGrouped ? "session" : undefined)),
    clear: () => change((next) => ["q", "span", "from", "to", ...FACETS].forEach((name) => next.delete(name))),
  };
}

export const FACETS: readonly CallFacetName[] = ["status", "risk", "tool", "kind", "agent", "user", "session"];
const KNOWN: ReadonlySet<string> = new Set([...FACETS, "span", "from", "to"]);

/** Values that somebody wrote into the address by hand are left out if there is no such value. */
function readQuery(params: URLSearchParams): CallFilter {
  const listOf = <Value extends string>(name: string, known: { options: readonly Value[] }): Value[] | undefined => {
    const values = params.getAll(name).flatMap((value) => known.options.find((option) => option === value) ?? []);
    return values.length > 0 ? values : undefined;
  };
  const timeOf = (name: string): number | undefined => {
    const value = Number(params.get(name) ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const span = params.get("span") ?? "";
  return {
    tool: params.get("tool") ?? undefined,
    session: params.get("session") ?? undefined,
    user: params.get("user") ?? undefined,
    agent: params.get("agent") ?? undefined,
    status: listOf("status", CallStatus),
    risk: listOf("risk", RiskLevel),
    kind: listOf("kind", ToolKind),
    search: params.get("q")?.trim() || undefined,
    from: isSpan(span) ? Date.now() - SPANS[span] : timeOf("from"),
    to: timeOf("to"),
  };
}

function isSpan(text: string): text is Span {
  return Object.hasOwn(SPANS, text);
}
