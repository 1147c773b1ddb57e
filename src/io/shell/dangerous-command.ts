import { type LocalizedText, localizedText, type TextKey } from "../../core/localized-text.ts";
import { gitSubcommand, SHELLS } from "./command-wrappers.ts";
import { parseCommand, type SeenCommand, unwrapArgv, unwrapCommand } from "./parse-command.ts";

/** The English text of `findDanger`; null if it found nothing. */
export function dangerReason(command: string | readonly string[]): string | null {
  return findDanger(command)?.text ?? null;
}

/** What a command destroys irreversibly, for an approver. Finding nothing does not make a command safe. */
export function findDanger(command: string | readonly string[]): LocalizedText | undefined {
  const { commands } = typeof command === "string" ? unwrapCommand(parseCommand(command)) : unwrapArgv(command);
  for (const seen of commands) {
    const danger = dangerOf(seen);
    if (danger) return danger;
  }
  const downloads = commands.some(({ name }) => name === "curl" || name === "wget");
  const readsInput = commands.some(({ name, argv }) => (SHELLS.has(name) || INTERPRETERS.has(name)) && runsInput(argv));
  // `bash <(curl …)`, `eval "$(curl …)"`: the words of a command hold the download.
  const evaluates = commands.some(({ name, open }) => RUNS_WORDS.has(name) && open.some((word) => DOWNLOAD.test(word)));
  return downloads && (readsInput || evaluates) ? localizedText("danger.runsDownload") : undefined;
}

const INTERPRETERS = new Set(["python", "python3", "node", "perl", "ruby"]);
const RUNS_WORDS = new Set([...SHELLS, ...INTERPRETERS, "eval", "source", "."]);
const DOWNLOAD = /[$<]\(\s*(?:curl|wget)\b|`\s*(?:curl|wget)\b/;
const STOPS_MACHINE = new Set(["shutdown", "reboot", "halt", "poweroff"]);
const RESOURCE_PROGRAMS = new Set(["kubectl", "helm", "terraform", "tofu", "pulumi", "aws", "gcloud", "az", "docker"]);
const DELETES_RESOURCES = /^(?:delete|destroy|uninstall|prune|rb|purge|terminate-instances|delete-[a-z-]+)$/;
const DATABASE_PROGRAMS = new Set(["psql", "mysql", "mariadb", "sqlite3", "mongosh"]);
const DROPS = /\b(?:drop\s+(?:table|database|schema)|truncate\b|dropDatabase)/i;
const WIPES = /^(?:mkfs(?:\..*)?|fdisk|sfdisk|parted|wipefs|shred|blkdiscard)$/;

function dangerOf({ name, argv, within }: SeenCommand): LocalizedText | undefined {
  const words = argv.slice(1);
  if (name === "rm") {
    if (hasFlag(words, "rRf", ["--recursive", "--force"])) return localizedText("danger.deletes");
    const many = within.find((wrapper) => ["find", "xargs", "parallel", "fd", "fdfind"].includes(wrapper));
    return many === undefined ? undefined : localizedText("danger.deletesFound", { program: many });
  }
  if (name === "find" && words.includes("-delete")) return localizedText("danger.deletesFound", { program: name });
  if (name === "git") {
    const key = dangerOfGit(words);
    return key && localizedText(key);
  }
  if (WIPES.test(name)) return localizedText("danger.wipes", { program: name });
  if (name === "dd" && words.some((word) => word.startsWith("of=/dev/"))) return localizedText("danger.device");
  if (STOPS_MACHINE.has(name)) return localizedText("danger.stopsMachine");
  if (["chmod", "chown", "chgrp"].includes(name) && hasFlag(words, "R", ["--recursive"])) {
    return localizedText("danger.permissions");
  }
  if ((name === "del" || name === "erase") && words.some((word) => /^\/[fqs]$/i.test(word))) {
    return localizedText("danger.deletes");
  }
  if ((name === "rd" || name === "rmdir") && words.some((word) => /^\/s$/i.test(word)))
    return localizedText("danger.deletes");
  if (RESOURCE_PROGRAMS.has(name) && words.some((word) => DELETES_RESOURCES.test(word)))
    return localizedText("danger.deletesResources");
  if (DATABASE_PROGRAMS.has(name) && words.some((word) => DROPS.test(word))) return localizedText("danger.dropsTables");
  return undefined;
}

function dangerOfGit(words: readonly string[]): TextKey | undefined {
  const [subcommand, ...rest] = gitSubcommand(words);
  switch (subcommand) {
    case "push": {
      const isForced = hasFlag(rest, "f", ["--force", "--force-with-lease", "--force-if-includes", "--mirror"]);
      if (isForced || rest.some((word) => /^\+./.test(word))) return "danger.forcePush";
      const deletes = hasFlag(rest, "d", ["--delete", "--prune"]) || rest.some((word) => /^:./.test(word));
      return deletes ? "danger.deletesRemote" : undefined;
    }
    case "reset":
      return rest.includes("--hard") ? "danger.discards" : undefined;
    case "clean":
      return hasFlag(rest, "f", ["--force"]) ? "danger.cleans" : undefined;
    case "branch":
      return hasFlag(rest, "dD", ["--delete"]) ? "danger.deletesBranches" : undefined;
    case "stash":
      return rest[0] === "drop" || rest[0] === "clear" ? "danger.deletesStash" : undefined;
    case "checkout":
      return rest.includes("--") || rest.includes(".") || hasFlag(rest, "f", ["--force"])
        ? "danger.discards"
        : undefined;
    case "filter-branch":
    case "filter-repo":
      return "danger.rewritesHistory";
    default:
      return undefined;
  }
}

function hasFlag(words: readonly string[], letters: string, long: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => {
    if (word.startsWith("--")) return long.includes(word.replace(/=.*$/s, ""));
    return word.startsWith("-") && [...word.slice(1)].some((letter) => letters.includes(letter));
  });
}

/** Without a script or inline code, an interpreter runs its standard input. */
function runsInput(argv: readonly string[]): boolean {
  const words = argv.slice(1);
  return (
    words.includes("-s") || words.every((word) => word === "-" || (word.startsWith("-") && !/^-\w*[ce]/.test(word)))
  );
}

/** Programs whose output comes from other machines. */
export const FETCHING_PROGRAMS: ReadonlySet<string> = new Set(
  `curl wget http https xh aria2c ssh scp sftp rsync ftp nc ncat netcat socat telnet lynx w3m links gh glab hub aws gcloud
   az doctl kubectl helm docker podman psql mysql mongosh redis-cli dig nslookup host whois yt-dlp`.split(/\s+/),
);
