import { defineWords, type Pair, useWords } from "../../language.tsx";

const words = defineWords({
  types: {
    call_begun: ["Call began", "调用开始"],
    call_ended: ["Call ended", "调用结束"],
    call_refused: ["Call refused", "调用被拒"],
    call_waiting: ["Call waits", "调用等待"],
    call_known: ["Known result", "已知结果"],
    call_lost: ["Outcome unknown", "结果未知"],
    call_corrected: ["Late result", "迟到的结果"],
    approval_asked: ["Approval asked", "请求审批"],
    approval_answered: ["Approval answered", "审批答复"],
    rule_added: ["Rule added", "新增规则"],
    rule_removed: ["Rule removed", "移除规则"],
    grant: ["Grant", "授权"],
    undo: ["Undo", "撤销"],
    config_changed: ["Settings changed", "设置变更"],
    trust: ["Trust", "信任"],
    note: ["Note", "备注"],
    log_pruned: ["Log pruned", "日志已清理"],
    gap: ["Gap", "缺口"],
  } as Record<string, Pair>,
  fields: {
    startedAt: ["Requested", "请求时间"],
    completedAt: ["Completed", "完成时间"],
    askedAt: ["Asked", "询问时间"],
    begunAt: ["Began", "开始时间"],
    queuedMs: ["Queued", "排队"],
    waitedMs: ["Waited for a person", "等待审批"],
    approvalId: ["Approval", "审批"],
    state: ["State", "状态"],
    reason: ["Reason", "原因"],
    note: ["Note", "备注"],
    answeredBy: ["Answered by", "答复者"],
    answeredVia: ["Answered through", "答复途径"],
    scope: ["Applies to", "适用范围"],
    rules: ["Saved rules", "保存的规则"],
    summary: ["Summary", "摘要"],
    contentBytes: ["Content, bytes", "内容字节数"],
    toolVersion: ["Version of the tool", "工具版本"],
    toolKind: ["Kind", "类型"],
    definition: ["Definition of the tool", "工具定义"],
    origin: ["Made by", "发起"],
    pending: ["Waits for", "等待"],
    error: ["Error", "错误"],
    metadata: ["Facts", "其他"],
    grant: ["Grant", "授权"],
    change: ["Change", "变更"],
    until: ["Until", "有效至"],
    maxUses: ["Calls at most", "最多调用次数"],
    used: ["Calls made", "已用次数"],
    spent: ["Spent", "已用预算"],
    holder: ["For", "对象"],
    why: ["Purpose", "用途"],
    action: ["Action", "操作"],
    by: ["By", "操作者"],
    hash: ["Hash of what was shown", "所示内容的哈希"],
    count: ["Count", "数量"],
  } as Record<string, Pair>,
});

/** The name of a type of entries. An unknown one stays as it is. */
export function useTypeNames(): (type: string) => string {
  const { types } = useWords(words);
  return (type) => (Object.hasOwn(types, type) ? (types[type] ?? type) : type);
}

/** The label of a field. An unknown one stays as it is. */
export function useFieldNames(): (name: string) => string {
  const { fields } = useWords(words);
  return (name) => (Object.hasOwn(fields, name) ? (fields[name] ?? name) : name);
}
