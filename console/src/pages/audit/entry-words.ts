import { defineWords, useWords } from "../../language.tsx";

const words = defineWords({
  en: {
    types: {
      call_begun: "Call began",
      call_ended: "Call ended",
      call_refused: "Call refused",
      call_waiting: "Call waits",
      call_known: "Known result",
      call_lost: "Outcome unknown",
      call_corrected: "Late result",
      approval_asked: "Approval asked",
      approval_answered: "Approval answered",
      rule_added: "Rule added",
      undo: "Undo",
      config_changed: "Settings changed",
      trust: "Trust",
      note: "Note",
      log_pruned: "Log pruned",
      gap: "Gap",
    } as Record<string, string>,
    fields: {
      startedAt: "Requested",
      completedAt: "Completed",
      askedAt: "Asked",
      begunAt: "Began",
      queuedMs: "Queued",
      waitedMs: "Waited for a person",
      approvalId: "Approval",
      state: "State",
      reason: "Reason",
      note: "Note",
      answeredBy: "Answered by",
      answeredVia: "Answered through",
      scope: "Applies to",
      rules: "Saved rules",
      summary: "Summary",
      contentBytes: "Content, bytes",
      toolVersion: "Version of the tool",
      toolKind: "Kind",
      definition: "Definition of the tool",
      origin: "Made by",
      pending: "Waits for",
      error: "Error",
      metadata: "Facts",
      hash: "Hash of what was shown",
      count: "Count",
    } as Record<string, string>,
  },
  zh: {
    types: {
      call_begun: "调用开始",
      call_ended: "调用结束",
      call_refused: "调用被拒",
      call_waiting: "调用等待",
      call_known: "已知结果",
      call_lost: "结果未知",
      call_corrected: "迟到的结果",
      approval_asked: "请求审批",
      approval_answered: "审批答复",
      rule_added: "新增规则",
      undo: "撤销",
      config_changed: "设置变更",
      trust: "信任",
      note: "备注",
      log_pruned: "日志已清理",
      gap: "缺口",
    } as Record<string, string>,
    fields: {
      startedAt: "请求时间",
      completedAt: "完成时间",
      askedAt: "询问时间",
      begunAt: "开始时间",
      queuedMs: "排队",
      waitedMs: "等待审批",
      approvalId: "审批",
      state: "状态",
      reason: "原因",
      note: "备注",
      answeredBy: "答复者",
      answeredVia: "答复途径",
      scope: "适用范围",
      rules: "保存的规则",
      summary: "摘要",
      contentBytes: "内容字节数",
      toolVersion: "工具版本",
      toolKind: "类型",
      definition: "工具定义",
      origin: "发起",
      pending: "等待",
      error: "错误",
      metadata: "其他",
      hash: "所示内容的哈希",
      count: "数量",
    } as Record<string, string>,
  },
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
