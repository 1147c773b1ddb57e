/** What the function returns, or `otherwise` if it throws. */
export function attempt<T>(run: () => T): T | undefined;
export function attempt<T, Otherwise>(run: () => T, otherwise: Otherwise): T | Otherwise;
export function attempt<T, Otherwise>(run: () => T, otherwise?: Otherwise): T | Otherwise | undefined {
  try {
    return run();
  } catch {
    return otherwise;
  }
}
