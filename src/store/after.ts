import type { MaybePromise } from "../core/stage.ts";

/** Goes on with a value, at once where it is there already. */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
