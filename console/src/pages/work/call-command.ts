/** A call as a command of a POSIX shell. */
export function commandOf(toolName: string, input: unknown): string {
  const fields = Object.entries(input ?? {});
  // Keys that the command line would read as something else: the whole input comes from stdin.
  if (fields.some(([key]) => key === "" || /^@|[=:]/.test(key)))
    return `printf %s ${quoted(JSON.stringify(input))} | haft tools call -- ${quoted(toolName)} -`;
  const words = [
    toolName,
    ...fields.map(([key, value]) =>
      typeof value === "string" && !value.startsWith("@") ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`,
    ),
  ];
  // After `--` nothing is an option.
  const end = words.some((word) => word.startsWith("-")) ? "-- " : "";
  return `haft tools call ${end}${words.map(quoted).join(" ")}`;
}

/** Quotes any text for a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
