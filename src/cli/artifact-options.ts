/** Which document is meant: ids are a session's own. */
export const ARTIFACT_SESSION = {
  session: { type: "text", value: "NAME", about: "The session that it belongs to" },
} as const;

export function ofSession(session: string | undefined): { session?: string } {
  return session === undefined ? {} : { session };
}
