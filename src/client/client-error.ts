import type { ErrorAnswer } from "../http/wire.ts";

/** The server refused, or could not be reached: then `status` is 0 and `code` is `unreachable`. */
export class HaftClientError extends Error {
  readonly code: ErrorAnswer["error"]["code"] | "unreachable";
  readonly next: string | undefined;
  readonly data: unknown;

  constructor(
    readonly status: number,
    error: Omit<ErrorAnswer["error"], "code"> & { code: ErrorAnswer["error"]["code"] | "unreachable" },
    cause?: unknown,
  ) {
    super(
      error.next === undefined ? error.message : `${error.message}. ${error.next}`,
      cause === undefined ? undefined : { cause },
    );
    this.name = "HaftClientError";
    this.code = error.code;
    this.next = error.next;
    this.data = error.data;
  }
}
