/** The least that a checked call can be: no function of its own to await, only the tool's. */
export function makeCall({ parameters, run }) {
  return (input) => {
    const parsed = parameters.safeParse(input);
    if (!parsed.success) throw parsed.error;
    return run(parsed.data);
  };
}
