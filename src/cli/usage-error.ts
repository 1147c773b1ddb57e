/** The command line itself is wrong: exit code 2, with what to write instead. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly next?: string,
  ) {
    super(message);
    this.name = "UsageError";
  }
}
