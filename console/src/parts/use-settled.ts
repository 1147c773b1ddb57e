import { useEffect, useState } from "react";

/** Long enough to see that something else is shown. */
const SETTLING_MS = 600;

/** Whether the same has been shown for a moment. Earlier keys and clicks were meant for what was there before. */
export function useSettled(shown: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(shown), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return settled === shown;
}
