import type { AuditLog } from "../gate/audit-log.ts";
import type { Approval, ApprovalChanges, ApprovalStore } from "../calls/approval.ts";

/** Questions and answers that also stand in the audit log: an answer before it counts, so that none counts unrecorded. */
export function auditedApprovals(store: ApprovalStore, audit: AuditLog): ApprovalStore {
  return {
    shared: store.shared,
    async add(approval, limits) {
      const added = await store.add(approval, limits);
      if (added.outcome === "added") await audit.append({ kind: "approval_asked", ...factsOf(added.approval) });
      return added;
    },
    async change(id, from, changes) {
      const decided = isDecision(changes) ? await store.get(id) : undefined;
      if (decided) {
        await audit.append({ kind: "approval_answered", ...factsOf({ ...decided, ...changes }) }, { synced: true });
      }
      const changed = await store.change(id, from, changes);
      if (decided && !changed) {
        await audit.append({
          kind: "note",
          ...factsOf(decided),
          data: { approvalId: id, note: "this answer came too late" },
        });
      }
      return changed;
    },
    get: (id) => store.get(id),
    current: (callKey) => store.current(callKey),
    list: (state, max) => store.list(state, max),
    prune: (before) => store.prune(before),
  };
}

function isDecision({ state }: ApprovalChanges): boolean {
  return state !== "pending" && state !== "used";
}

function factsOf(approval: Approval) {
  const { id, callId, toolName, caller, verdict, state, hash, reason, note, scope, rules } = approval;
  const { answeredBy, answeredVia } = approval;
  const answer = { answeredBy, answeredVia, note, scope, rules };
  return {
    callId,
    toolName,
    caller,
    verdict: state === "approved" ? ("allow" as const) : state === "pending" ? verdict.decision : ("deny" as const),
    data: { approvalId: id, state, hash, reason, ...answer },
  };
}
