import { type Call, type CallToContinue, toolOf } from "../core/call.ts";

/** A call as data. Its id is kept, also where it was made up: that is how its second pass is known as the same call. */
export function continuationOf(call: Call): CallToContinue {
  const {
    signal: _signal,
    onUpdate: _onUpdate,
    onApprovalRequested: _onApprovalRequested,
    taskId: _task,
    userId: _user,
    ...kept
  } = call.options;
  const tool = toolOf(call);
  return {
    name: `${tool.name}@${tool.version}`,
    input: call.sent ?? call.accepted,
    options: { ...kept, id: call.id, caller: call.caller },
    ...(call.scope ? { toolkit: [...call.scope.names()] } : {}),
    verdict: call.verdict ?? { decision: "allow", by: "tool", reason: "it was running" },
  };
}
