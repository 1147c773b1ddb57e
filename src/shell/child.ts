import type { StreamName } from "./output-buffer.ts";

/** What is to be started; the program is already chosen. */
export interface Launch {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: "closed" | "pipe";
  verbatimArguments?: boolean;
}

export interface ChildEvents {
  data(chunk: Buffer, stream: StreamName): void;
  exit(code: number | null, signal: NodeJS.Signals | null): void;
  /** The other end of every output is closed: nothing more will come. */
  closed(): void;
}

/** What a child on pipes and one on a pseudo-terminal have in common. */
export interface Child {
  readonly pid: number;
  readonly terminal: boolean;
  /** False when it does not take input (any more). */
  write(data: string): boolean;
  /** Bytes written and not yet taken by the child. */
  pendingInput(): number;
  endInput(): void;
  resize(size: { cols: number; rows: number }): void;
  pause(): void;
  resume(): void;
  /** Closes our ends and lets the host exit; the child is not touched. */
  detach(): void;
}
