import { useEffect, useState } from "react";

/** Long enough to see that the question changed. */
const SETTLING_MS = 600;

/** Whether what is shown has stood still for a moment, so that an answer is meant for it. */
export function useSettled(shown: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(shown), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return settled === shown;
}
