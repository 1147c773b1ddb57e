import { useState } from "react";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import type { SessionEntry, SessionFrame } from "../../../../src/contracts/sessions.ts";
import { api, queries } from "../../api.ts";
import { useStream } from "../../streams.ts";

export interface StreamedSession {
  entries: SessionEntry[];
  /** Streamed text that is not an entry yet. */
  speaking: string;
  /** Results of calls while others of the same step still run. */
  early: ReadonlyMap<string, ToolResult>;
}

const NOTHING: StreamedSession = { entries: [], speaking: "", early: new Map() };

/** The history of a session, live. After a lost connection the client resumes after the last entry. */
export function useSessionStream(key: string): StreamedSession {
  const [shown, setShown] = useState(NOTHING);
  useStream(
    (signal) => {
      setShown(NOTHING);
      return api.sessions.watch(key, {}, { signal });
    },
    (frame) => {
      setShown((before) => add(before, frame));
      // State and usage change with each entry.
      if (frame.type === "entry") void queries.invalidateQueries({ queryKey: ["sessions"] });
    },
    key,
  );
  return shown;
}

function add(shown: StreamedSession, frame: SessionFrame): StreamedSession {
  switch (frame.type) {
    case "entry": {
      const isKnown = shown.entries.some(({ seq }) => seq === frame.entry.seq);
      const entries = isKnown ? shown.entries : [...shown.entries, frame.entry];
      return frame.entry.message?.role === "tool"
        ? { ...shown, entries, early: new Map() }
        : { ...shown, entries, speaking: "" };
    }
    case "text":
      return { ...shown, speaking: shown.speaking + frame.text };
    case "tool_result":
      return { ...shown, early: new Map(shown.early).set(frame.result.callId, frame.result) };
    default:
      return shown;
  }
}
