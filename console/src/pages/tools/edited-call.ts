const EDITED = "haft.edited-call";

/** A past call to edit and run again. */
export function saveEdited(tool: string, input: unknown): void {
  sessionStorage.setItem(EDITED, JSON.stringify({ tool, input }));
}

export function takeEdited(tool: string): unknown {
  const kept = sessionStorage.getItem(EDITED);
  // First: what cannot be read must not break the page again.
  sessionStorage.removeItem(EDITED);
  try {
    const edited: unknown = JSON.parse(kept ?? "null");
    return isEdited(edited) && edited.tool === tool ? edited.input : undefined;
  } catch {
    return undefined;
  }
}

function isEdited(value: unknown): value is { tool: string; input: unknown } {
  return typeof value === "object" && value !== null && "tool" in value && "input" in value;
}
