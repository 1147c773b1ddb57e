import { useEffect, useState } from "react";

/** Long enough to see that another card is shown. */
const SETTLING_MS = 600;

/** Whether the card has been shown for a moment. Earlier keys and clicks were meant for the card before it. */
export function useSettled(shown: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(shown), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return settled === shown;
}
