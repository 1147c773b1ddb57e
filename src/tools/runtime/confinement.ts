/** A place to run commands in from which they cannot get out. */
export interface Confinement {
  /** Whether commands that stay in it run without asking. */
  readonly autoAllow: boolean;
  /** What a command may do in it, in one line, for whoever is asked. */
  readonly summary: string;
  /** The command, put into it. */
  wrap(command: readonly string[], commandOptions: ConfinedCommand): readonly string[];
}

export interface ConfinedCommand {
  cwd: string;
  terminal: boolean;
  /** What of the workspace may be written in this call; all of it where absent. */
  allowedPaths?: readonly string[];
}

/** Confined, on purpose not, or not although it was wanted: then every result says why. */
export type Confining =
  | { confinement: Confinement; missing?: undefined }
  | { confinement?: undefined; missing?: string };
