import { useEffect, useState } from "react";
import type { SessionEntry, SessionFrame, ToolResult } from "../../../../src/http/wire.ts";
import { addressOf, queries } from "../../api.ts";

export interface StreamedSession {
  entries: SessionEntry[];
  /** What is being said, and is not an entry yet. */
  speaking: string;
  /** Results of calls whose siblings still run. */
  early: ReadonlyMap<string, ToolResult>;
}

const NOTHING: StreamedSession = { entries: [], speaking: "", early: new Map() };

/** A session's history as it grows. Whoever is cut off goes on after the last entry that it has seen. */
export function useSessionStream(key: string): StreamedSession {
  const [shown, setShown] = useState(NOTHING);
  useEffect(() => {
    setShown(NOTHING);
    const stream = new EventSource(addressOf(`sessions/${encodeURIComponent(key)}/updates`), { withCredentials: true });
    const onMessage = (event: MessageEvent<string>): void => {
      const frame = JSON.parse(event.data) as SessionFrame;
      setShown((before) => add(before, frame));
      if (frame.type === "entry" && (frame.entry.end || frame.entry.incoming)) {
        void queries.invalidateQueries({ queryKey: ["sessions"] });
      }
    };
    for (const type of ["entry", "text", "tool_result"] as const) stream.addEventListener(type, onMessage);
    return () => stream.close();
  }, [key]);
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
