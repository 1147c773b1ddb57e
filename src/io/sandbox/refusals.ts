/**
 * What a confined command was refused, as the kernel tells it. A program cannot write this report, and cannot avoid it.
 *
 * `hidden`: it opened a hidden file or folder, which it was shown as empty. `network`: packets or connections that could
 * go nowhere, and sockets of other families. `socket`: a UNIX socket, by its path. `call`: a blocked system call, or a
 * signal to a process outside. `outside`: it wrote outside of the workspace; the write was thrown away. `moved`: it
 * tried to move or link a file out of the folder that it is in, to another mount.
 */
export interface Refusal {
  kind: "hidden" | "network" | "socket" | "call" | "outside" | "moved";
  /** A real path, the name of a system call, or what happened. */
  subject: string;
  count: number;
  /** It disclosed and changed nothing, and programs go on without it: a note in the result, and not a question. */
  harmless?: true;
}

export interface RefusalReport {
  /** Empty: the command was refused nothing. */
  refusals: readonly Refusal[];
}

/** Whether this machine can report what a command was refused. `why` is part of a sentence, as "this machine has no overlays". */
export type RefusalReporting = { isReported: true } | { isReported: false; why: string };
