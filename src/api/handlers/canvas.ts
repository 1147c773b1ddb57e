import type { canvas as contract } from "../../contracts/canvas.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { Surface } from "../../tools/canvas/render-document.ts";

export interface ShownCanvas {
  /** Newest first. */
  list(): readonly Surface[];
  document(session: string): Promise<{ html: string; policy: string } | undefined>;
}

/** Callers without a session have the session "". */
export function createCanvasApi(canvas: ShownCanvas): Handlers<typeof contract> {
  return {
    list: () => ({
      items: canvas.list().map(({ session, id, version, kind, title, content, at }) => ({
        session: session === "" ? undefined : session,
        artifact: id,
        version,
        kind,
        title,
        url: kind === "url" ? content : undefined,
        at,
      })),
    }),
    async document({ query: { session = "" }, setHeader }) {
      const document = await canvas.document(session);
      if (!document) throw new ApiError("not_found", "Nothing is on this canvas");
      setHeader("x-frame-options", "SAMEORIGIN");
      // Without an origin, wherever it is opened: it cannot use the rights of the console.
      setHeader("content-security-policy", `${document.policy}; sandbox allow-scripts; frame-ancestors 'self'`);
      return document.html;
    },
  };
}
