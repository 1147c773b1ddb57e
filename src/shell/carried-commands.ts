import { gitSubcommand } from "./git-subcommand.ts";
import { SHELLS } from "./wrapper-forms.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Whatever their words are, what they run is not told by them as far as rules that forbid need it. */
const RUN_ANYTHING = words(`
  nsenter setpriv prlimit capsh sg dbus-run-session dbus-launch systemd-run start-stop-daemon pkexec run0 runcon fakeroot
  proot bwrap firejail cgexec xvfb-run rlwrap entr expect at batch crontab screen tmux gdb lldb make gmake bmake
  ed ex vi vim nvim emacs alias enable bind compgen complete fc
`);
const INTERPRETER =
  /^(?:python|pypy|node|deno|bun|perl|ruby|php|lua|luajit|tclsh|osascript|pwsh|powershell|rscript)[\d.]*$/;
const INLINE_CODE = /^(?:-[a-zA-Z]*[ceE]|-[pr]$|--(?:eval|print|run)\b|-command$|eval$)/i;
const INFO_OPTION = /^(?:-[vVh]|--version|--help)$/;
const AWK = /^[gmn]?awk$/;
const PACKAGE_RUNNER = /^(?:npx|bunx|pnpx)$/;
const PACKAGE_MANAGER = /^(?:npm|pnpm|yarn|bun)$/;
/** Options of many programs whose value is a command. */
const COMMAND_OPTION =
  /^--(?:checkpoint-action|to-command|use-compress-program|compress-program|rsh|rsync-path|pre|pager|call|eval|exec)\b/;
const GIT_RUNS = /^(?:-c|--config-env|--exec-path)(?:=|$)|^(?:-x|--exec|--extcmd|--upload-pack|--receive-pack)(?:=|$)/;
/** Variables from whose value programs take a command, or find another program under a name. */
const CARRIES =
  /COMMAND|PAGER|EDITOR|VISUAL|SHELL|ENV$|ASKPASS|^LD_|OPTIONS$|OPTS?$|PATH$|^GIT_|BROWSER|^IFS$|^PS\d|^BASH_/;

/** Whether a variable of this name may bring a command with it. */
export function carriesCommand(assignment: string): boolean {
  return CARRIES.test(assignment.split(/\+?=/)[0] ?? "");
}

/**
 * What a program may run beyond what its words name, as beginnings of commands; an empty one may become any. Of scripts
 * in files nothing is said: they are the program.
 */
export function carriedCommands(name: string, rest: readonly string[], isOpen: (word: string) => boolean): string[] {
  return runsAnything(name, rest, isOpen) ? [""] : packageCommand(name, rest);
}

function runsAnything(name: string, rest: readonly string[], isOpen: (word: string) => boolean): boolean {
  if (RUN_ANYTHING.has(name) || rest.some((word) => COMMAND_OPTION.test(word))) return true;
  const isStream = (word: string | undefined): boolean =>
    word !== undefined && (isOpen(word) || word === "-" || /^\/(?:dev|proc)\//.test(word));
  const operand = rest.find((word) => !word.startsWith("-") || word === "-");
  if (name === "source" || name === ".") return isStream(operand);
  if (SHELLS.has(name)) {
    if (rest.some((word) => /^-[a-zA-Z]*c/.test(word))) return false;
    return rest.some((word) => /^-[a-zA-Z]*s/.test(word)) || isStream(operand);
  }
  if (INTERPRETER.test(name)) {
    if (operand === undefined) return !rest.some((word) => INFO_OPTION.test(word));
    return isStream(operand) || rest.slice(0, rest.indexOf(operand) + 1).some((word) => INLINE_CODE.test(word));
  }
  if (AWK.test(name)) return rest.some((word) => /system|\||getline|@load/.test(word));
  if (name === "sed")
    return rest.some((word) => !word.startsWith("-") && /(?:^|[\d;{}$/!\n])\s*\w*e(?:\s|$)/.test(word));
  if (name === "hash") return rest.includes("-p");
  if (name === "mapfile" || name === "readarray") return rest.some((word) => word.startsWith("-C"));
  if (name === "export" || name === "declare" || name === "typeset" || name === "env" || name === "sudo") {
    return rest.some((word) => /^\w+\+?=/.test(word) && carriesCommand(word));
  }
  if (name === "git") {
    const [subcommand, action] = gitSubcommand(rest);
    const runs = subcommand === "filter-branch" || (subcommand === "bisect" && action === "run");
    const before = rest.slice(0, rest.indexOf(subcommand ?? ""));
    const isCommitOption = subcommand === "commit" || subcommand === "switch";
    return runs || action === "foreach" || (isCommitOption ? before : rest).some((word) => GIT_RUNS.test(word));
  }
  return (PACKAGE_RUNNER.test(name) || PACKAGE_MANAGER.test(name)) && rest.some((word) => /^-\w*c$/.test(word));
}

/** `npx x`, `npm exec -- x`: a package's program, or one that is there already. */
function packageCommand(name: string, rest: readonly string[]): string[] {
  const isRun = PACKAGE_MANAGER.test(name) && /^(?:exec|x|dlx)$/.test(rest[0] ?? "");
  if (!isRun && !PACKAGE_RUNNER.test(name)) return [];
  const after = rest.slice(isRun ? 1 : 0);
  // An option may or may not take the next word: every word that may be the program is taken for it.
  return after.flatMap((word, at) =>
    !word.startsWith("-") && (at === 0 || after[at - 1]?.startsWith("-")) ? [`${after.slice(at).join(" ")} `] : [],
  );
}
