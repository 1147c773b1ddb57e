/** The keys of categories; labels in several languages resolve to them. Hosts may use their own keys. */
export const ToolCategory = {
  SYSTEM: "system",
  FILE: "file",
  SEARCH: "search",
  RUNTIME: "runtime",
  NETWORK: "network",
  DATA: "data",
  CODE: "code",
  SESSION: "session",
  MESSAGE: "message",
  ARTIFACT: "artifact",
  AGENT: "agent",
  UI: "ui",
  AUTOMATION: "automation",
  MCP: "mcp",
  CUSTOM: "custom",
} as const;
export type ToolCategory = (typeof ToolCategory)[keyof typeof ToolCategory];

const LABELS: Record<ToolCategory, readonly string[]> = {
  system: ["系统", "系统工具"],
  file: ["files", "fs", "文件", "文件操作", "文件工具", "文件系统"],
  search: ["搜索", "搜索工具"],
  runtime: ["shell", "运行时", "命令", "shell 工具"],
  network: ["web", "net", "网络", "网络请求", "网络工具", "web 工具"],
  data: ["数据", "数据处理", "数据工具"],
  code: ["代码", "代码执行"],
  session: ["sessions", "会话", "会话管理"],
  message: ["messaging", "消息", "消息工具"],
  artifact: ["artifacts"],
  agent: ["agents", "代理"],
  ui: ["界面", "浏览器", "画布"],
  automation: ["自动化", "定时任务"],
  mcp: ["mcp 外部工具", "外部工具"],
  custom: ["自定义", "自定义工具"],
};

const KEY_OF_LABEL = new Map<string, string>(
  Object.entries(LABELS).flatMap(([key, labels]) => labels.map((label) => [label, key] as const)),
);

/** The key for a category's key or label; unknown names are the host's own keys. */
export function toCategory(name: string): string {
  const folded = name.trim().toLowerCase();
  return KEY_OF_LABEL.get(folded) ?? folded;
}
