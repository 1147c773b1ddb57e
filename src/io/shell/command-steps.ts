import type { Statement } from "unbash";
import { type CommandStep, rankOf, type RiskLevel } from "../../core/call-summary.ts";
import { type LocalizedText, localizedText, type TextKey } from "../../core/localized-text.ts";
import { gitSubcommand, SHELLS } from "./command-wrappers.ts";
import { findDanger } from "./dangerous-command.ts";
import { parseCommand, type ParsedCommand, type SeenCommand, unwrapCommand } from "./parse-command.ts";
import { isReadOnlyArgv } from "./rebuild-command.ts";

/** A longer chain is one step: nobody reads it line by line. */
const MAX_STEPS = 60;

/** The programs of a command, with what each does and why it asks. Explains only; leaves out nothing but comments. */
export function commandSteps(text: string): CommandStep[] {
  const steps = splitSteps(text).map(({ text: part, operator }): CommandStep => ({
    operator,
    text: part,
    ...explain(part),
  }));
  const danger = findDanger(text);
  if (danger && !steps.some(({ level }) => level === "critical")) {
    // Only the steps together are dangerous: a download that the next step runs.
    const last = steps.findLast(({ text: part }) => SHELLS.has(part.split(/\s/)[0] ?? "")) ?? steps.at(-1);
    if (last) Object.assign(last, { level: "critical", asks: danger } satisfies Partial<CommandStep>);
  }
  return steps;
}

type Step = Pick<CommandStep, "text" | "operator">;

function splitSteps(text: string): Step[] {
  const whole = [{ text: text.trim() }];
  const { problem, script } = parseCommand(text);
  if (problem || !script) return whole;
  const found: { from: number; to: number; operator?: Step["operator"] }[] = [];
  const add = (node: Statement["command"], operator: Step["operator"]): void => {
    if (node.type === "AndOr" || (node.type === "Pipeline" && node.prefixes.length === 0)) {
      const { commands, operators } = node;
      for (const [at, each] of commands.entries()) add(each, at === 0 ? operator : operatorOf(operators[at - 1]));
    } else found.push({ from: node.pos, to: node.end, operator });
  };
  let operator: Step["operator"];
  for (const { command, background } of script.commands) {
    add(command, operator);
    operator = background ? "&" : ";";
  }
  const isBackground = operator === "&";
  // The parser only gives positions: everything between the steps must be an operator, a blank or a comment.
  let end = 0;
  for (const { from, to } of found) {
    if (from < end || !BETWEEN_STEPS.test(text.slice(end, from))) return whole;
    end = to;
  }
  if (found.length === 0 || found.length > MAX_STEPS || !BETWEEN_STEPS.test(text.slice(end))) return whole;
  const steps = found.map((step): Step => ({ text: text.slice(step.from, step.to), operator: step.operator }));
  const last = steps.at(-1);
  if (last && isBackground) last.text += " &";
  return steps;
}

/** Each character can match in one way only: the text may be hostile. */
const BETWEEN_STEPS = /^(?:[\s;|&]|\\\n|#[^\n]*(?:\n|$))*$/;

function operatorOf(operator: string | undefined): Step["operator"] {
  return operator === "&&" || operator === "||" ? operator : "|";
}

/** What one program or subcommand does. */
interface Explained {
  does: TextKey;
  asks?: TextKey;
  level: RiskLevel;
}

const READS: Explained = { does: "does.readFiles", level: "low" };
const CHANGES: Omit<Explained, "does"> = { asks: "asks.changesFiles", level: "medium" };
const NETWORK: Omit<Explained, "does"> = { asks: "asks.network", level: "high" };
const SENDS: Omit<Explained, "does"> = { asks: "asks.sends", level: "high" };
const MACHINE: Omit<Explained, "does"> = { asks: "asks.changesMachine", level: "high" };
const CODE: Omit<Explained, "does"> = { asks: "asks.runsCode", level: "high" };

const PROGRAMS: ReadonlyMap<string, Explained> = new Map(
  (
    [
      ["cd pushd popd", { does: "does.changeFolder", level: "low" }],
      ["echo printf", { does: "does.print", level: "low" }],
      ["true false : test [", { does: "does.check", level: "low" }],
      [
        "cat head tail less more grep egrep fgrep rg ag fd ls tree wc sort uniq cut tr diff cmp comm nl od xxd strings jq yq column fold paste join basename dirname realpath readlink md5sum sha1sum sha256sum cksum stat file du bat",
        READS,
      ],
      [
        "pwd whoami id uname date hostname env printenv which type uptime df free ps top nproc lscpu locale",
        { does: "does.readSystem", level: "low" },
      ],
      ["mkdir touch mktemp", { does: "does.createFiles", ...CHANGES }],
      ["cp install ln", { does: "does.copyFiles", ...CHANGES }],
      ["mv rename", { does: "does.moveFiles", ...CHANGES }],
      ["rm rmdir unlink", { does: "does.deleteFiles", ...CHANGES }],
      ["tee patch truncate split dos2unix prettier", { does: "does.editFiles", ...CHANGES }],
      ["chmod chown chgrp chattr", { does: "does.permissions", ...CHANGES }],
      ["dd mkfs fdisk parted wipefs mount umount", { does: "does.disk", ...MACHINE }],
      ["tar zip unzip gzip gunzip bzip2 xz zstd 7z", { does: "does.archive", ...CHANGES }],
      [
        "make cmake ninja gradle mvn ant pytest tox jest vitest tsc eslint oxlint webpack vite rake bazel just",
        { does: "does.runProject", asks: "asks.runsCode", level: "medium" },
      ],
      [
        "python python3 node deno bun perl ruby php lua osascript bash sh zsh dash fish eval source . exec xargs",
        { does: "does.runCode", ...CODE },
      ],
      ["npx bunx uvx pipx", { does: "does.runPackage", ...CODE }],
      ["apt apt-get dnf yum brew apk pacman snap", { does: "does.installPackages", ...MACHINE }],
      ["ssh mosh telnet", { does: "does.remote", ...SENDS }],
      ["kubectl helm", { does: "does.cluster", ...SENDS }],
      [
        "aws gcloud az terraform tofu pulumi doctl fly vercel netlify heroku wrangler",
        { does: "does.cloud", ...SENDS },
      ],
      ["docker podman docker-compose", { does: "does.containers", ...MACHINE }],
      ["psql mysql mariadb sqlite3 mongosh redis-cli", { does: "does.database", ...SENDS }],
      ["gh glab hub", { does: "does.github", ...SENDS }],
      ["kill pkill killall", { does: "does.endProcesses", ...MACHINE }],
      ["systemctl service launchctl crontab", { does: "does.services", ...MACHINE }],
      ["shutdown reboot halt poweroff", { does: "does.machine", ...MACHINE }],
      ["sleep wait", { does: "does.wait", level: "low" }],
    ] satisfies [string, Explained][]
  ).flatMap(([names, explained]) => names.split(" ").map((name): [string, Explained] => [name, explained])),
);

/** `does` of package managers depends on their first word. */
const PACKAGE_MANAGERS = new Set("npm pnpm yarn bun pip pip3 uv cargo go gem composer poetry".split(" "));
const WRAPPERS = new Set(["env", "timeout", "nice", "time", "nohup", "stdbuf", "command", "builtin"]);
const OTHER_USER = new Set(["sudo", "su", "doas", "runuser", "setpriv"]);
/** Options of curl and wget that send a body; short ones may be combined, and joined with their value. */
const SENDS_BODY = /^(?:-[a-zA-Z]*[dFT]|--(?:data|form|json|upload-file|post-|body|url-query))/;
const METHOD_OPTION = /^(?:-[a-zA-Z]*X|--request=?|--method=?)(.*)$/;

function sendsData(word: string, next: string | undefined): boolean {
  const method = METHOD_OPTION.exec(word);
  if (method) return !/^(?:GET|HEAD)$/i.test(method[1] || (next ?? ""));
  return SENDS_BODY.test(word);
}

function explain(text: string): Pick<CommandStep, "does" | "asks" | "level"> {
  const parsed = parseCommand(text);
  const danger = findDanger(text);
  const { commands, complete } = unwrapCommand(parsed);
  const parts = commands.filter(({ name }) => !WRAPPERS.has(name)).map(explainProgram);
  const redirect = writtenFile(parsed);
  if (redirect) parts.push({ level: "medium", asks: redirect });
  if (!complete || parsed.problem) parts.push({ level: "high", asks: localizedText("asks.unclear") });
  const worst = parts.reduce(
    (one, other) => (rankOf(other.level) > rankOf(one.level) ? other : one),
    parts[0] ?? EMPTY,
  );
  const isGroup = parsed.constructs.has("compound command") || parsed.commands.length > 1;
  const does = isGroup ? localizedText("does.group") : (parts.find((part) => part.does)?.does ?? worst.does);
  return danger ? { does, asks: danger, level: "critical" } : { does, asks: worst.asks, level: worst.level };
}

type ExplainedPart = Pick<CommandStep, "does" | "asks" | "level">;
const EMPTY: ExplainedPart = { level: "low" };

function explainProgram(seen: SeenCommand): ExplainedPart {
  const { name, argv, literal } = seen;
  const words = argv.slice(1);
  if (OTHER_USER.has(name)) {
    return { does: localizedText("does.otherUser"), asks: localizedText("asks.otherUser"), level: "critical" };
  }
  const known = subcommandOf(name, words) ?? PROGRAMS.get(name);
  if (literal && isReadOnlyArgv(argv)) {
    const does = known?.level === "low" ? known.does : name === "git" ? "does.gitRead" : "does.readFiles";
    return { does: localizedText(does), level: "low" };
  }
  if (name === "curl" || name === "wget" || name === "scp" || name === "rsync" || name === "sftp" || name === "ftp")
    return explainTransfer(name, words);
  if (!known) return { asks: localizedText("asks.unknownProgram", { program: name }), level: "high" };
  const does = localizedText(known.does, known.does.includes("runCode") ? { program: name } : undefined);
  // A program that usually reads, with words that are not known to be harmless.
  if (known.level === "low" && !isHarmlessBuiltin(name)) {
    const why = literal
      ? localizedText("asks.unknownProgram", { program: `${name} ${words[0] ?? ""}`.trim() })
      : undefined;
    return { does, asks: why ?? localizedText("asks.unclear"), level: "medium" };
  }
  return { does, asks: known.asks && localizedText(known.asks), level: known.level };
}

function isHarmlessBuiltin(name: string): boolean {
  return ["cd", "pushd", "popd", "echo", "printf", "true", "false", ":", "test", "[", "sleep", "wait", "pwd"].includes(
    name,
  );
}

function subcommandOf(name: string, words: readonly string[]): Explained | undefined {
  if (name === "git") return explainGit(gitSubcommand(words));
  if (name === "sed" || name === "awk" || name === "gawk")
    return words.some((word) => /^-\w*i|^--in-place/.test(word)) ? { does: "does.editFiles", ...CHANGES } : READS;
  if (name === "find")
    return words.some((word) => /^-(?:exec|ok|delete|fprint)/.test(word)) ? { does: "does.runCode", ...CODE } : READS;
  if (!PACKAGE_MANAGERS.has(name)) return undefined;
  const first = words.find((word) => !word.startsWith("-")) ?? "";
  // The value of an option may come first: `npm -w app publish`.
  if (words.includes("publish")) return { does: "does.publish", ...SENDS };
  if (/^(?:i|install|ci|add|update|upgrade|sync|get|remove|uninstall)$/.test(first))
    return { does: "does.installPackages", ...NETWORK };
  if (/^(?:exec|dlx|x)$/.test(first)) return { does: "does.runPackage", ...CODE };
  return { does: "does.runProject", asks: "asks.runsCode", level: "medium" };
}

function explainGit([subcommand = ""]: readonly string[]): Explained {
  if (subcommand === "push") return { does: "does.gitPush", ...SENDS };
  if (/^(?:fetch|pull|clone)$/.test(subcommand)) return { does: "does.gitFetch", ...NETWORK };
  const changes = { asks: "asks.changesRepository", level: "medium" } as const;
  if (/^(?:add|commit|tag|stash|merge|rebase|cherry-pick|revert)$/.test(subcommand))
    return { does: "does.gitCommit", ...changes };
  if (/^(?:checkout|switch|restore|reset|clean|apply|mv|rm)$/.test(subcommand))
    return { does: "does.gitFiles", ...changes };
  return { does: "does.gitOther", ...changes };
}

function explainTransfer(name: string, words: readonly string[]): ExplainedPart {
  // Copies between machines name both sides; which one is remote depends on options, so sending is assumed.
  const sends = name === "curl" || name === "wget" ? words.some((word, at) => sendsData(word, words[at + 1])) : true;
  const host = hostOf(words) ?? name;
  return sends
    ? { does: localizedText("does.upload", { host }), asks: localizedText("asks.sends"), level: "high" }
    : { does: localizedText("does.download", { host }), asks: localizedText("asks.network"), level: "high" };
}

function hostOf(words: readonly string[]): string | undefined {
  for (const word of words) {
    if (/^https?:\/\//i.test(word) && URL.canParse(word)) return new URL(word).host;
    const remote = /^(?:[\w.-]+@)?([\w.-]+\.[\w.-]+|localhost):/.exec(word)?.[1];
    if (remote !== undefined) return remote;
  }
  return undefined;
}

/** The first file that a redirection writes. */
function writtenFile({ redirections }: ParsedCommand): LocalizedText | undefined {
  const target = redirections.find(
    ({ operator, target: file }) =>
      operator.includes(">") && file !== undefined && !/^(?:\/dev\/(?:null|stdout|stderr)|&?\d+|-)$/.test(file.value),
  )?.target;
  return target && localizedText("asks.writesTo", { path: target.value });
}
