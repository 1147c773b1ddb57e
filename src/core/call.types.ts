import type { CallData, CallIn, CallOptions, IdentityOptions, ProcessOptions, StoredOptions } from "./call.ts";
import type { Middleware } from "./stage.ts";

// Checked by the compiler only; nothing here runs.

type Expect<T extends true> = T;
type IsNever<T> = [T] extends [never] ? true : false;
/** The paths of what JSON cannot hold. */
type NotPlain<T> = T extends string | number | boolean | null | undefined
  ? never
  : T extends ((...given: never[]) => unknown) | AbortSignal | bigint | symbol
    ? T
    : T extends readonly (infer Item)[]
      ? NotPlain<Item>
      : T extends object
        ? { [Key in keyof T]-?: NotPlain<T[Key]> }[keyof T]
        : never;

export type Cases = [
  // Every option is stored, a part of the call's identity, or the process's own.
  Expect<IsNever<Exclude<keyof CallOptions, keyof StoredOptions | keyof IdentityOptions | keyof ProcessOptions>>>,
  Expect<IsNever<keyof StoredOptions & (keyof IdentityOptions | keyof ProcessOptions)>>,
  Expect<IsNever<NotPlain<StoredOptions>>>,
  Expect<IsNever<NotPlain<Omit<CallData, "input" | "caller" | "environment" | "verdict">>>>,
];

// @ts-expect-error: a listener would be stored.
export type Listener = Expect<IsNever<NotPlain<StoredOptions & Pick<ProcessOptions, "onUpdate">>>>;

/** Middleware only reads a call. */
export const middleware: Middleware = {
  name: "reader",
  after: "validate",
  enter(call) {
    // @ts-expect-error: what the caller gave
    call.options = {};
    // @ts-expect-error: what the caller gave
    call.options.mode = "bypassPermissions";
    // @ts-expect-error: what the caller gave
    call.caller.user = "root";
    // @ts-expect-error: of `validate`
    call.input = {};
    // @ts-expect-error: of `permit`
    call.verdict = undefined;
    // @ts-expect-error: of the gate
    call.aborted = undefined;
  },
};

/** A stage sets its own fields, and no others. */
export function admit(call: CallIn<"admit">): void {
  call.queuedMs = 1;
  // @ts-expect-error: of `permit`
  call.verdict = undefined;
  // @ts-expect-error: what the caller gave
  call.caller = { depth: 0 };
}
