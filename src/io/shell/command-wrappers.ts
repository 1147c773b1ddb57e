import { isDeniedEnvName } from "./shell-environment.ts";

/** A program that runs the command given in its arguments. */
interface WrapperForm {
  /** Options that take the next word, or have their value attached. */
  values?: string;
  /** Options without a value; any other option makes the reading uncertain. */
  flags?: string;
  /** Words before the command: the duration of timeout, the lock file of flock. */
  operands?: number;
  /** NAME=value words may precede the command. */
  assignments?: boolean;
  /** The option whose value is shell text: `su -c`. */
  textOption?: string;
  /** The words of the command are joined and passed to a shell. */
  joined?: boolean;
  /** It appends more words at run time, so the command is never completely known. */
  adds?: boolean;
  /** With one of these options it runs nothing. */
  runsNothing?: string;
}

const WRAPPERS: ReadonlyMap<string, WrapperForm> = new Map(
  Object.entries<WrapperForm>({
    sudo: {
      values: `-u -g -h -p -C -D -R -T -r -t -U --user --group --host --prompt --close-from --chdir --chroot --command-timeout
        --role --type --other-user`,
      flags:
        "-A -b -B -E -H -i -k -K -n -N -P -s -S --askpass --background --login --non-interactive --preserve-env --shell --stdin --set-home",
      assignments: true,
    },
    doas: { values: "-u -C -a", flags: "-n -s -L" },
    env: {
      values: "-u -C --unset --chdir -S --split-string",
      flags: "- -i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal",
      assignments: true,
    },
    timeout: {
      values: "-s -k --signal --kill-after",
      flags: "-v -f -p --foreground --preserve-status --verbose",
      operands: 1,
    },
    gtimeout: {
      values: "-s -k --signal --kill-after",
      flags: "-v --foreground --preserve-status --verbose",
      operands: 1,
    },
    nice: { values: "-n --adjustment" },
    ionice: { values: "-c -n --class --classdata", flags: "-t --ignore" },
    nohup: {},
    setsid: { flags: "-c -f -w --ctty --fork --wait" },
    command: { flags: "-p", runsNothing: "-v -V" },
    builtin: {},
    exec: { values: "-a", flags: "-c -l" },
    time: { values: "-f -o --format --output", flags: "-a -p -q -v --append --portability --quiet --verbose" },
    stdbuf: { values: "-i -o -e --input --output --error" },
    unbuffer: { flags: "-p" },
    chrt: { flags: "-b -f -i -o -r -v --batch --fifo --idle --other --rr --verbose", operands: 1 },
    taskset: { flags: "-a -c --all-tasks --cpu-list", operands: 1 },
    numactl: {},
    chroot: { values: "--userspec --groups", flags: "--skip-chdir", operands: 1 },
    setarch: { flags: "-R -v --addr-no-randomize --verbose", operands: 1 },
    caffeinate: { values: "-t -w", flags: "-d -i -m -s -u" },
    unshare: { flags: "-c -f -i -m -n -p -r -u -U --fork --ipc --mount --net --pid --user --uts --map-root-user" },
    strace: {
      values: "-a -e -E -I -o -O -p -P -s -S -u -X",
      flags: "-c -C -d -D -f -ff -h -i -k -q -r -t -tt -T -v -x -y",
    },
    ltrace: { values: "-a -e -l -n -o -p -s -u -x", flags: "-b -c -C -f -i -L -r -S -t -tt -T" },
    xargs: {
      values: `-a -d -E -I -L -n -P -s --arg-file --delimiter --eof --replace --max-lines --max-args --max-procs
        --max-chars --process-slot-var`,
      flags: "-0 -e -i -l -o -p -r -t -x --null --interactive --no-run-if-empty --open-tty --verbose --exit",
      adds: true,
    },
    parallel: { values: "-a -j -n -N -I --jobs", flags: "-0 -k --keep-order --null", adds: true, joined: true },
    watch: {
      values: "-n -q --interval --equexit",
      flags:
        "-b -c -C -d -e -g -p -r -t -w -x --beep --color --differences --errexit --chgexit --precise --no-title --exec",
      joined: true,
    },
    flock: {
      values: "-w -E --timeout --conflict-exit-code -c --command",
      flags: "-e -x -s -n -o -u -F --exclusive --shared --nonblock --nb --unlock --close --no-fork --verbose",
      operands: 1,
      textOption: "-c --command",
    },
    su: {
      values: "-c --command -s --shell -g -G -w",
      flags: "- -l -m -p -P --login --pty",
      textOption: "-c --command",
      operands: 1,
    },
    runuser: { values: "-c --command -u -g -G -s", flags: "- -l -m -p -P", textOption: "-c --command" },
    script: {
      values: "-c --command -E -I -O -B -T -m -o",
      flags: "-a -e -f -q --append --flush --quiet --return",
      textOption: "-c --command",
      operands: 1,
    },
    busybox: {},
    toybox: {},
  }),
);

export const SHELLS: ReadonlySet<string> = new Set("sh bash rbash dash ash zsh ksh mksh fish".split(" "));

export interface WrappedCommands {
  commands: (readonly string[])[];
  /** Shell text that it runs. */
  texts: string[];
  /** False if it may run something else. */
  certain: boolean;
}

/** What a program runs according to its arguments; undefined if it is not a wrapper. */
export function readWrapper(name: string, words: readonly string[], stdin?: string): WrappedCommands | undefined {
  if (SHELLS.has(name)) return readShell(words, stdin);
  switch (name) {
    case "eval":
      return { commands: [], texts: [words.join(" ")], certain: !words.some((word) => /[$`]/.test(word)) };
    case "trap":
      return { commands: [], texts: words.slice(0, 1).filter((word) => !/^-|^$/.test(word)), certain: true };
    case "find":
      return readFind(words);
    case "cmd": {
      const at = words.findIndex((word) => /^\/[ck]$/i.test(word));
      return at < 0 ? undefined : { commands: [words.slice(at + 1)], texts: [], certain: false };
    }
    case "fd":
    case "fdfind":
      return readFd(words);
    default: {
      const form = WRAPPERS.get(name);
      return form && readForm(form, words);
    }
  }
}

/** Of one wrapper. With more, some are missing, and the wrapper is not certain. */
const MAX_READINGS = 8;

interface WrapperOptions {
  values: ReadonlySet<string>;
  flags: ReadonlySet<string>;
  texts: ReadonlySet<string>;
  runsNothing: ReadonlySet<string>;
}

const optionsOfForm = new WeakMap<WrapperForm, WrapperOptions>();

function optionsOf(form: WrapperForm): WrapperOptions {
  const known = optionsOfForm.get(form);
  if (known) return known;
  const listed = (text = ""): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));
  const options = {
    values: listed(form.values),
    flags: listed(form.flags),
    texts: listed(form.textOption),
    runsNothing: listed(form.runsNothing),
  };
  optionsOfForm.set(form, options);
  return options;
}

function readForm(form: WrapperForm, words: readonly string[]): WrappedCommands {
  const { values, flags, texts: textOptions, runsNothing } = optionsOf(form);
  const result: WrappedCommands = { commands: [], texts: [], certain: !form.adds };
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") {
      at++;
      break;
    }
    if (!word.startsWith("-")) break;
    if (runsNothing.has(word)) return { commands: [], texts: [], certain: true };
    const option = splitOption(word, values);
    if (values.has(option.name)) {
      const value = option.value ?? words[++at] ?? "";
      if (textOptions.has(option.name)) {
        if (result.texts.length < MAX_READINGS) result.texts.push(value);
        else result.certain = false;
      }
      // env -S splits its value into words and puts them before the rest.
      if (option.name === "-S" || option.name === "--split-string") {
        return { commands: [], texts: [[value, ...words.slice(at + 1)].join(" ")], certain: false };
      }
    } else if (!areFlags(word, option.name, flags)) {
      result.certain = false;
      // An unknown option may or may not take the next word: include both readings.
      if (result.commands.length < MAX_READINGS) result.commands.push(words.slice(at + 2));
    }
  }
  for (; form.assignments && /^[A-Za-z_]\w*=/.test(words[at] ?? ""); at++) {
    if (carriesCommand(words[at] ?? "")) result.certain = false;
  }
  const command = words.slice(at + (form.operands ?? 0));
  if (result.texts.length === 0) result.texts.push(...textAfter(words.slice(at), textOptions));
  if (form.joined) result.texts.push(command.join(" "));
  else if (command.length > 0 && result.texts.length === 0) result.commands.push(command);
  return result;
}

/** `su root -c text`, `flock file -c text`: the option may also follow the operands. */
function textAfter(words: readonly string[], textOptions: ReadonlySet<string>): string[] {
  const at = words.findIndex((word) => textOptions.has(word));
  return at < 0 ? [] : words.slice(at + 1, at + 2);
}

function splitOption(word: string, values: ReadonlySet<string>): { name: string; value?: string } {
  const equals = word.startsWith("--") ? word.indexOf("=") : -1;
  if (equals > 0) return { name: word.slice(0, equals), value: word.slice(equals + 1) };
  const short = word.slice(0, 2);
  return !word.startsWith("--") && word.length > 2 && values.has(short)
    ? { name: short, value: word.slice(2) }
    : { name: word };
}

function areFlags(word: string, name: string, flags: ReadonlySet<string>): boolean {
  if (flags.has(name) || /^-\d+$/.test(word)) return true;
  return !word.startsWith("--") && [...word.slice(1)].every((letter) => flags.has(`-${letter}`));
}

/** bash reads all options first, `-xc` like `-x -c`; with `-c` the first operand is the text. */
function readShell(words: readonly string[], stdin: string | undefined): WrappedCommands {
  let readsText = false;
  let certain = true;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--" || word === "-") {
      at++;
      break;
    }
    if (!/^[-+]./.test(word)) break;
    if (["--rcfile", "--init-file"].includes(word)) at++;
    if (word.startsWith("--")) {
      certain &&= PLAIN_SHELL_OPTIONS.has(word);
      continue;
    }
    if (word.startsWith("-") && word.includes("c")) readsText = true;
    if (/[oO]$/.test(word)) at++;
  }
  const [first, ...rest] = words.slice(at);
  if (readsText) {
    const texts = first === undefined ? [] : [first];
    // Positional parameters put further words into the text.
    const carries = rest.length > 0 && /\$(?:[\d@*{]|\$)/.test(first ?? "");
    return { commands: carries ? [rest] : [], texts, certain: certain && !carries };
  }
  if (first !== undefined) return { commands: [], texts: [], certain };
  return { commands: [], texts: stdin === undefined ? [] : [stdin], certain: certain && stdin !== undefined };
}

/** Others may name a file that the shell runs first. */
const PLAIN_SHELL_OPTIONS = new Set("--login --norc --noprofile --noediting --posix --restricted --verbose".split(" "));

function readFind(words: readonly string[]): WrappedCommands | undefined {
  const commands: string[][] = [];
  for (let at = 0; at < words.length; at++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(words[at] ?? "")) continue;
    const rest = words.slice(at + 1);
    const end = rest.findIndex((word) => word === ";" || word === "+");
    commands.push(end < 0 ? rest : rest.slice(0, end));
    at += commands.at(-1)?.length ?? 0;
  }
  return commands.length > 0 ? { commands, texts: [], certain: false } : undefined;
}

function readFd(words: readonly string[]): WrappedCommands | undefined {
  const at = words.findIndex((word) => /^(?:-[xX]|--exec|--exec-batch)$/.test(word));
  return at < 0 ? undefined : { commands: [words.slice(at + 1)], texts: [], certain: false };
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs whose arguments do not show what they run. */
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
/** Variables whose value programs run as a command, or use to find programs. */
const COMMAND_VARIABLE =
  /COMMAND|PAGER|EDITOR|VISUAL|SHELL|ENV$|ASKPASS|^LD_|^DYLD_|OPTIONS$|OPTS?$|PATH$|^GIT_|BROWSER|^IFS$|^PS\d|^BASH_/;

/** Whether a variable of this name may contain a command, or the place of settings that do. */
export function carriesCommand(assignment: string): boolean {
  const name = assignment.split(/\+?=/)[0] ?? "";
  return COMMAND_VARIABLE.test(name) || (name === name.toUpperCase() && isDeniedEnvName(name));
}

/**
 * What a program may run beyond what its arguments name, as prefixes of commands; an empty prefix may become any
 * command. Script files are not looked into: they are the program.
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

/** `npx x`, `npm exec -- x`: a program of a package, or one that is already installed. */
function packageCommand(name: string, rest: readonly string[]): string[] {
  const isRun = PACKAGE_MANAGER.test(name) && /^(?:exec|x|dlx)$/.test(rest[0] ?? "");
  if (!isRun && !PACKAGE_RUNNER.test(name)) return [];
  const after = rest.slice(isRun ? 1 : 0);
  // An option may or may not take the next word: include every word that may be the program.
  const starts = after.flatMap((word, at) =>
    !word.startsWith("-") && (at === 0 || after[at - 1]?.startsWith("-")) ? [at] : [],
  );
  return starts.length > MAX_READINGS ? [""] : starts.map((at) => `${after.slice(at).join(" ")} `);
}

const GIT_OPTION_WITH_VALUE = new Set("-C -c --git-dir --work-tree --namespace --config-env --exec-path".split(" "));

/** The subcommand and its arguments, without the global options. */
export function gitSubcommand(words: readonly string[]): readonly string[] {
  let at = 0;
  for (let word = words[at]; word?.startsWith("-"); word = words[at]) at += GIT_OPTION_WITH_VALUE.has(word) ? 2 : 1;
  return words.slice(at);
}

/** `/usr/bin/RG.exe` and `rg` are the same program to rules. */
export function normalizeProgramName(program: string): string {
  const parts = program.split(/[\\/]/).filter(Boolean);
  return (parts.at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "");
}
