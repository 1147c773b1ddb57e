import { parameters, run } from "./add.mjs";

/** What everything is measured against: the check and the function, and nothing around them. */
export function makeCall() {
  return (input) => {
    const parsed = parameters.safeParse(input);
    if (!parsed.success) throw parsed.error;
    return run(parsed.data);
  };
}
