import { useEffect, useState } from "react";

/** Long enough to see that something else is shown. */
const SETTLING_MS = 600;
const INPUTS = ["pointerdown", "keydown"] as const;

/**
 * Whether the same has been shown for a moment without a key or a tap. Earlier ones were meant for what was there before:
 * somebody who goes on tapping has not looked yet.
 */
export function useSettled(shown: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const end = (): void => {
      clearTimeout(timer);
      for (const input of INPUTS) removeEventListener(input, start, true);
    };
    const start = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        end();
        setSettled(shown);
      }, SETTLING_MS);
    };
    for (const input of INPUTS) addEventListener(input, start, true);
    start();
    return end;
  }, [shown]);
  return settled === shown;
}
