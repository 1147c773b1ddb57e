import type { Message } from "./message.ts";

/** What tool_search has loaded in a conversation, the newest last. Read off what was said, it survives whatever keeps that. */
export function loadedToolsIn(messages: readonly Message[]): string[] {
  const loaded = new Set<string>();
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const { toolName, success, metadata } of message.results) {
      const names = metadata["loadedTools"];
      if (toolName !== "tool_search" || !success || !Array.isArray(names)) continue;
      for (const name of names.map(String)) {
        loaded.delete(name);
        loaded.add(name);
      }
    }
  }
  return [...loaded];
}
