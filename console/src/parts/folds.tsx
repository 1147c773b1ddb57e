import { createContext, type ReactNode, useCallback, useContext, useLayoutEffect, useMemo, useState } from "react";

interface Folds {
  change: (by: number) => void;
  /** Everything is to be shown. */
  isWhole: boolean;
}

const FoldsContext = createContext<Folds>({ change: () => {}, isWhole: false });

/**
 * How many parts inside `wrap` are folded and have never been open. `wrap(…, true)` opens them all. What a person has not
 * opened is not approved by a plain yes.
 */
export function useFolds(): [number, (children: ReactNode, isWhole?: boolean) => ReactNode] {
  const [count, setCount] = useState(0);
  const change = useCallback((by: number) => setCount((now) => now + by), []);
  const closed = useMemo(() => ({ change, isWhole: false }), [change]);
  const open = useMemo(() => ({ change, isWhole: true }), [change]);
  return [count, (children, isWhole) => <FoldsContext value={isWhole ? open : closed}>{children}</FoldsContext>];
}

/** Whether everything around this part was opened. */
export function useIsWhole(): boolean {
  return useContext(FoldsContext).isWhole;
}

/** Counts a folded part of what is shown, before it is painted. */
export function useFold(isFolded: boolean): void {
  const { change } = useContext(FoldsContext);
  useLayoutEffect(() => {
    if (!isFolded) return undefined;
    change(1);
    return () => change(-1);
  }, [change, isFolded]);
}
