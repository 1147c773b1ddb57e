/** What everything is measured against: a function that checks its input, as one would write it without a library. */
export function makeCall({ parameters, run }) {
  return async (input) => {
    const parsed = parameters.safeParse(input);
    if (!parsed.success) throw parsed.error;
    return await run(parsed.data);
  };
}
