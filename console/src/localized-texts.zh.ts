import type { TextKey } from "../../src/core/localized-text.ts";

/** The Chinese of every server text. A missing key does not compile. */
export const TEXTS_ZH: Readonly<Record<TextKey, string>> = {
  "risk.reads": "只读取。",
  "risk.changesFiles": "会修改文件。Haft 可以撤销。",
  "risk.deletesFiles": "会删除文件。Haft 可以撤销。",
  "risk.runsCommand": "会运行命令。",
  "risk.sends": "会向 {host} 发送数据。",
  "risk.unknownEffect": "运行前无法得知其效果。",
  "risk.dangerous": "{danger}",
};
