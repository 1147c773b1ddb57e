import type { AgentSessionInfo } from "../../../../src/contracts/sessions.ts";

export interface TreeRow {
  session: AgentSessionInfo;
  /** 0 for a session that no other one in the list has started. */
  depth: number;
}

/** Each session below the one that started it. Siblings keep their order. */
export function treeOf(sessions: readonly AgentSessionInfo[]): TreeRow[] {
  const known = new Set(sessions.map(({ key }) => key));
  const children = new Map<string, AgentSessionInfo[]>();
  for (const session of sessions) {
    const parent = session.parent !== undefined && known.has(session.parent) ? session.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), session]);
  }
  const rows: TreeRow[] = [];
  // Each session has one parent, so none is visited twice; a cycle is not reached from the top.
  const add = (parent: string, depth: number): void => {
    for (const session of children.get(parent) ?? []) {
      rows.push({ session, depth });
      if (session.key !== "") add(session.key, depth + 1);
    }
  };
  add("", 0);
  return rows;
}

export function addressOfSession(key: string): string {
  return `/sessions/${encodeURIComponent(key)}`;
}
