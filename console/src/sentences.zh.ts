/**
 * Sentences of the server that have no key: reasons inside of other texts, and what programs of the machine did. `{name}` is
 * any text. `test/console-texts.test.ts` compares the closed lists with the server's.
 */
const SENTENCES_ZH: Readonly<Record<string, string>> = {
  // Why the effects of a command are unknown.
  "it needs the network": "它需要网络",
  "it is dangerous": "它有危险",
  "it is interactive": "它需要交互",
  "it was ended": "它已被结束",
  "it runs outside the sandbox": "它在沙箱之外运行",
  "it continues in the background": "它会在后台继续运行",
  "it waits or runs for long": "它会等待或长时间运行",
  "its text cannot be understood": "无法理解其文本",
  "it writes a very large file": "它会写入非常大的文件",
  "it writes too much": "它写入的内容过多",
  "it uses too many processes or too much memory": "它使用的进程过多或内存过大",
  "it renames a folder, which a copy cannot do": "它会重命名文件夹，而副本无法做到",
  "it reads the history of git": "它读取 git 历史",
  "it was refused something": "它的某个操作被拒绝",
  "the copy did not keep them": "副本没有保留它们",
  "they cannot be recorded ({why})": "无法记录它们（{why}）",
  "it did not end within {seconds} s": "它在 {seconds} 秒内没有结束",
  "it gets {names}, which may hold a secret": "它会得到 {names}，其中可能含有机密",
  "this machine has no overlays": "本机不支持覆盖文件系统",

  // Why a path is protected.
  "git runs programs that it names": "git 会运行它所指的程序",
  "every new shell runs it": "每个新的 shell 都会运行它",
  "it changes what keys do in a terminal": "它会改变终端中按键的作用",
  "ripgrep takes options from it, also programs": "ripgrep 从中读取选项，包括要运行的程序",
  "editors run its tasks and settings when the folder is opened": "打开文件夹时编辑器会运行其中的任务和设置",
  "it decides what agents may do": "它决定代理可以做什么",
  "package managers execute it": "包管理器会执行它",
  "git runs the commands in it when the rebase continues": "变基继续时 git 会运行其中的命令",
  "git runs it at every commit": "每次提交时 git 都会运行它",
  "the CI service runs it with the secrets of the project": "CI 服务会带着项目的机密运行它",
  "package managers run its scripts during an installation": "安装时包管理器会运行其中的脚本",
  "commands of the project are found here": "项目的命令在此处查找",
  "it runs when somebody enters the folder": "有人进入该文件夹时它会运行",
  "a program runs it when it starts in this folder": "程序在该文件夹中启动时会运行它",

  // Why a command cannot be read.
  "The tool does not report what this call accesses.": "该工具没有说明此调用访问什么。",
  "The command is empty.": "命令为空。",
  "The command contains a NUL character.": "命令含有 NUL 字符。",
  "The command contains half a character (an unpaired surrogate).": "命令含有半个字符（不成对的代理项）。",
  "The command is not valid bash: {why}.": "命令不是有效的 bash：{why}。",
  "The command names over {count} files: too many to check.": "命令涉及超过 {count} 个文件：太多，无法检查。",
  "The command is nested too deeply. That is too complex to analyse.": "命令嵌套过深，无法分析。",
  "The command consists of over {count} commands. That is too complex to analyse.":
    "命令由超过 {count} 个命令组成，无法分析。",
  "The command is longer than {count} characters. That is too complex to analyse.":
    "命令超过 {count} 个字符，无法分析。",
  "The command has too many expansions or brackets. That is too complex to analyse.":
    "命令的展开或括号过多，无法分析。",
  "The command has over {count} parts. That is too complex to analyse.": "命令超过 {count} 个部分，无法分析。",

  // What of a call is not shown.
  "The present content of {names} is not text": "{names} 的现有内容不是文本",
  "{count} bytes of the preview": "预览中的 {count} 字节",
  "{count} characters of its title": "标题中的 {count} 个字符",
  "a part of the arguments, which have {count} bytes ({hash})": "部分参数，全部为 {count} 字节（{hash}）",

  // What the hooks of other agents do not cover.
  "Claude Code before 2.1.295 runs a call if its hook takes longer than the time limit.":
    "2.1.295 之前的 Claude Code 在钩子超过时限时会运行该调用。",
  "Versions of Cursor that do not know preToolUse do not call the hook, and do not say so.":
    "不支持 preToolUse 的 Cursor 版本不会调用钩子，也不会提示。",
  "Codex runs a call if its hook takes longer than the time limit, and only hooks that you trusted in Codex.":
    "钩子超过时限时 Codex 会运行该调用；它只运行你在 Codex 中信任的钩子。",
  "Gemini CLI runs a call if its hook takes longer than the time limit.": "钩子超过时限时 Gemini CLI 会运行该调用。",
  "Copilot runs a call if its hook takes longer than the time limit. With -p it may not read hooks of a project: use --user.":
    "钩子超过时限时 Copilot 会运行该调用。使用 -p 时它可能不读取项目的钩子：请用 --user。",
  "opencode loads plugins when it starts: a session that is open now has no hook.":
    "opencode 在启动时加载插件：现在打开的会话没有钩子。",
  "pi loads extensions of a project only after you trusted the project.": "pi 在你信任项目之后才加载其扩展。",

  // Why a change cannot be undone.
  "was changed later": "之后被修改过",
  "is a folder to which other files were added later": "是一个文件夹，之后又加入了其他文件",
  "is occupied by something else now": "现在被其他内容占用",
  "was in a folder that no longer exists": "原来所在的文件夹已不存在",
  "was too large, or of a kind that is not stored": "太大，或属于不保存的类型",
  "is not allowed to be changed": "不允许更改",

  // What a program of the configuration may do.
  "runs UNCONFINED, with all rights of your user": "运行时不受限制，拥有你的用户的全部权限",
  "runs confined, reaches the whole network": "受限运行，可以访问整个网络",
  "runs confined, reaches only {hosts}": "受限运行，只能访问 {hosts}",
  "runs confined, without network": "受限运行，没有网络",

  // Why an MCP server is not ready.
  "The sandbox refused {what}. To allow it, add to its entry: {line}":
    "沙箱拒绝了：{what}。如要允许，请在其条目中加入：{line}",
  "The sandbox could not be set up, so the program did not start.": "无法建立沙箱，因此程序没有启动。",
  "The file {path} does not exist. Correct its path in the entry.": "文件 {path} 不存在。请改正条目中的路径。",
  "It was not given the variable {name}. To pass it on, add to its entry: {line}":
    "没有把变量 {name} 传给它。如要传递，请在其条目中加入：{line}",
  'It runs confined; to see whether that is the reason, add "sandbox": false to its entry.':
    '它受限运行；如要确认原因是否在此，请在其条目中加入 "sandbox": false。',
  'MCP server "{name}" requires a sign-in ({why})': "MCP 服务器“{name}”需要登录（{why}）",
  'MCP server "{name}" did not answer in time': "MCP 服务器“{name}”没有及时回答",
  'MCP server "{name}" was not ready after {count} ms': "MCP 服务器“{name}”在 {count} 毫秒后仍未就绪",
  'MCP server "{name}" sent data that is nested too deeply': "MCP 服务器“{name}”发送的数据嵌套过深",
  'MCP server "{name}" sent an answer that violates the protocol: {why}': "MCP 服务器“{name}”的回答违反协议：{why}",
  "Its launch configuration was not approved. {what}": "其启动配置未被批准。{what}",
};

interface Template {
  pattern: RegExp;
  names: readonly string[];
  chinese: string;
}

const templates: readonly Template[] = Object.entries(SENTENCES_ZH).map(([english, chinese]) => {
  const parts = english.split(/\{(\w+)\}/);
  const source = parts
    .map((part, at) => (at % 2 === 0 ? part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "(.+?)"))
    .join("");
  return { pattern: new RegExp(`^${source}$`, "s"), names: parts.filter((_, at) => at % 2 === 1), chinese };
});

/** The Chinese sentence. Undefined if this one is not known. */
export function translateSentence(english: string): string | undefined {
  for (const { pattern, names, chinese } of templates) {
    const found = pattern.exec(english);
    if (found) return chinese.replace(/\{(\w+)\}/g, (_, name: string) => found[names.indexOf(name) + 1] ?? "");
  }
  return undefined;
}
