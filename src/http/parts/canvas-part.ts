import type { HostCanvas } from "../../capabilities/canvas.ts";
import type { CanvasCapability } from "../host-parts.ts";

/** The surfaces of a host in the words of the wire. */
export function canvasCapability(canvas: HostCanvas): CanvasCapability {
  return {
    list: () =>
      canvas.list().map(({ session, id, version, kind, title, content, at }) => ({
        session: session === "" ? undefined : session,
        artifact: id,
        version,
        kind,
        title,
        url: kind === "url" ? content : undefined,
        at,
      })),
    document: (session) => canvas.document(session),
  };
}
