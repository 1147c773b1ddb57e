import { basename, dirname } from "node:path";
import { ToolError } from "../core/error.ts";
import type { Files } from "./files.ts";
import { isInside } from "./is-path-allowed.ts";
import type { EntryState } from "./undo-journal.ts";

type AssumedStep = { do: "set"; path: string; state: EntryState } | { do: "move"; from: string; to: string };

/** The tree as it would be after steps that are only planned. */
export interface TreeView {
  stateAt(path: string): Promise<EntryState>;
  /** Names of what would stand in a folder. */
  childrenOf(path: string): Promise<string[]>;
  assume(step: AssumedStep): void;
}

export function createTreeView(files: Files): TreeView {
  const steps: AssumedStep[] = [];
  const seen = new Map<string, EntryState>();

  const onDisk = async (path: string): Promise<EntryState> => {
    const known = seen.get(path);
    if (known) return known;
    const { real, state: found } = await files.entry(path);
    const { bytes: _, ...state } = found as EntryState & { bytes?: Buffer };
    // A folder on the way became a link: what stands at its end is not what was changed.
    const now: EntryState = real === path ? state : { kind: "other" };
    seen.set(path, now);
    return now;
  };

  /** From the last step to the first: what decided about the path, or where on the disk it comes from. */
  const trace = (path: string): { state: EntryState } | { disk: string } => {
    let at = path;
    for (const step of steps.toReversed()) {
      if (step.do === "move") {
        if (isInside(at, step.to)) at = step.from + at.slice(step.to.length);
        else if (isInside(at, step.from)) return { state: { kind: "absent" } };
      } else if (step.path === at) return { state: step.state };
      else if (isInside(at, step.path) && step.state.kind !== "directory") return { state: { kind: "absent" } };
    }
    return { disk: at };
  };

  const stateAt = async (path: string): Promise<EntryState> => {
    const traced = trace(path);
    return "state" in traced ? traced.state : onDisk(traced.disk);
  };

  return {
    stateAt,
    assume: (step) => void steps.push(step),
    async childrenOf(path) {
      const traced = trace(path);
      const names = new Set("disk" in traced ? await namesIn(files, traced.disk) : []);
      for (const [index, step] of steps.entries()) {
        const now = follow(step.do === "move" ? step.to : step.path, steps.slice(index + 1));
        if (dirname(now) === path) names.add(basename(now));
      }
      const there: string[] = [];
      for (const name of names) if ((await stateAt(`${path}/${name}`)).kind !== "absent") there.push(name);
      return there;
    },
  };
}

/** Where later steps carry a path. */
function follow(path: string, later: readonly AssumedStep[]): string {
  let at = path;
  for (const step of later)
    if (step.do === "move" && isInside(at, step.from)) at = step.to + at.slice(step.from.length);
  return at;
}

async function namesIn(files: Files, path: string): Promise<string[]> {
  try {
    return (await files.listDirectory(path)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof ToolError && ["path_not_found", "not_directory"].includes(error.code)) return [];
    throw error;
  }
}
