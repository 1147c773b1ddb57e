import { type ToolError, toolError } from "../core/error.ts";

export function unknownClientCall(id: string): ToolError {
  return toolError("conflict", `"${id}" is not a call that waits for this client: it was answered, or is too late`, {
    next: "Answer each call once, with the id that came with it.",
  });
}

export function clientDisconnected(client: string): ToolError {
  return toolError("unavailable", `The client "${client}" went away before it had answered`, {
    next: "It is not known what it did. Check that, and call again when it is back.",
  });
}

export function clientTimedOut(client: string, ms: number): ToolError {
  return toolError("timeout", `The client "${client}" did not answer within ${ms} ms`, {
    next: "It is not known what it did: check that before you call again.",
  });
}

export function serverShuttingDown(): ToolError {
  return toolError("shutdown", "The server ended before the client had answered", {
    next: "It is not known what the client did: check that first.",
  });
}

export function nameTaken(name: string): ToolError {
  return toolError("conflict", `There is a tool "${name}" already`, { next: "Register it under another name." });
}

export function idInUse(callId: string): ToolError {
  return toolError("conflict", `Call id "${callId}" waits for its client with another input`, {
    next: "Give every call an id of its own.",
  });
}

export function tooManyOpen(what: string): ToolError {
  return toolError("busy", `There are too many ${what}`, { next: "Wait until some have ended." });
}
