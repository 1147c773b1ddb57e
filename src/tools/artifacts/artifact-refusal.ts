import { type ToolError, toolError } from "../../core/error.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import { MAX_CHARACTERS, MAX_VERSIONS } from "./artifact.ts";

export function notFound(id: string, others: readonly string[]): ToolError {
  const near = nearestNames(id, others);
  const known = (near.length > 0 ? near : others.slice(0, 10)).map((name) => `"${name}"`).join(", ");
  const next =
    others.length === 0
      ? "This session has none yet: make it with create_artifact."
      : `${near.length > 0 ? "Did you mean" : "There are"}: ${known}? list_artifacts shows all.`;
  return toolError("path_not_found", `There is no artifact "${id}" in this session`, { next, data: { near } });
}

export function taken(id: string): ToolError {
  return toolError("path_exists", `There is an artifact "${id}" already`, {
    next: "Change it with update_artifact or rewrite_artifact, or choose another id.",
  });
}

export function unknownVersion(id: string, version: number, newest: number): ToolError {
  return toolError("bad_range", `The artifact "${id}" has no version ${version}`, {
    next: newest === 1 ? "There is only version 1." : `There are versions 1 to ${newest}.`,
    data: { newest },
  });
}

export function changedSince(id: string, expected: number, newest: number): ToolError {
  return toolError("stale", `The artifact "${id}" is at version ${newest} by now, and not at ${expected}`, {
    next: "Read it again (diff_artifact shows what changed), then make the change on that version.",
    data: { expected, newest },
  });
}

export function tooLong(characters: number): ToolError {
  return toolError("too_large", `The content has ${characters} characters; an artifact holds ${MAX_CHARACTERS}`, {
    next: "Split it into several artifacts, or write a file.",
  });
}

export function tooManyVersions(id: string): ToolError {
  return toolError("too_large", `The artifact "${id}" has ${MAX_VERSIONS} versions, and holds no more`, {
    next: "Go on in a new artifact.",
  });
}
