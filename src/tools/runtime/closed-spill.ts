import type { SpillState } from "../../shell/spill.ts";

export type ClosedSpill = Extract<SpillState, { status: "closed" }>;

/** The spill where it can be read: there is one, and it is finished. */
export function closedSpill(state: SpillState | undefined): ClosedSpill | undefined {
  return state?.status === "closed" ? state : undefined;
}

export function describeSpill({ ref, bytes, complete }: ClosedSpill): string {
  return complete ? `The whole output is in ${ref}` : `The first ${bytes} bytes of the output are in ${ref}`;
}
