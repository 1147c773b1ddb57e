import { gitSubcommand, SHELLS } from "./command-wrappers.ts";
import { parseCommand, type SeenCommand, unwrapArgv, unwrapCommand } from "./parse-command.ts";

/**
 * Why an approver should look twice: what a command destroys irreversibly; null if nothing was found. It only adds
 * emphasis to an approval. Finding nothing does not make a command safe.
 */
export function dangerReason(command: string | readonly string[]): string | null {
  const { commands } = typeof command === "string" ? unwrapCommand(parseCommand(command)) : unwrapArgv(command);
  for (const seen of commands) {
    const reason = dangerOf(seen);
    if (reason) return reason;
  }
  const downloads = commands.some(({ name }) => name === "curl" || name === "wget");
  const readsInput = commands.some(({ name, argv }) => (SHELLS.has(name) || INTERPRETERS.has(name)) && runsInput(argv));
  return downloads && readsInput ? "It runs what it downloads." : null;
}

const INTERPRETERS = new Set(["python", "python3", "node", "perl", "ruby"]);
const STOPS_MACHINE = new Set(["shutdown", "reboot", "halt", "poweroff"]);
const WIPES = /^(?:mkfs(?:\..*)?|fdisk|sfdisk|parted|wipefs|shred|blkdiscard)$/;

function dangerOf({ name, argv, within }: SeenCommand): string | undefined {
  const words = argv.slice(1);
  if (name === "rm") {
    if (hasFlag(words, "rRf", ["--recursive", "--force"])) return "It deletes files without asking, or whole folders.";
    const many = within.find((wrapper) => ["find", "xargs", "parallel", "fd", "fdfind"].includes(wrapper));
    return many && `It deletes every file that ${many} finds.`;
  }
  if (name === "find" && words.includes("-delete")) return "It deletes every file that find finds.";
  if (name === "git") return dangerOfGit(words);
  if (WIPES.test(name)) return `${name} destroys the content of a disk or file.`;
  if (name === "dd" && words.some((word) => word.startsWith("of=/dev/"))) return "It overwrites a device.";
  if (STOPS_MACHINE.has(name)) return "It stops the machine.";
  if (["chmod", "chown", "chgrp"].includes(name) && hasFlag(words, "R", ["--recursive"])) {
    return "It changes the permissions of a whole folder.";
  }
  if ((name === "del" || name === "erase") && words.some((word) => /^\/[fqs]$/i.test(word))) {
    return "It deletes files without asking.";
  }
  if ((name === "rd" || name === "rmdir") && words.some((word) => /^\/s$/i.test(word)))
    return "It deletes whole folders.";
  return undefined;
}

function dangerOfGit(words: readonly string[]): string | undefined {
  const [subcommand, ...rest] = gitSubcommand(words);
  switch (subcommand) {
    case "push": {
      const isForced = hasFlag(rest, "f", ["--force", "--force-with-lease", "--force-if-includes", "--mirror"]);
      if (isForced || rest.some((word) => /^\+./.test(word))) return "It overwrites the history of a remote branch.";
      const deletes = hasFlag(rest, "d", ["--delete", "--prune"]) || rest.some((word) => /^:./.test(word));
      return deletes ? "It deletes remote branches or tags." : undefined;
    }
    case "reset":
      return rest.includes("--hard") ? "It discards uncommitted changes." : undefined;
    case "clean":
      return hasFlag(rest, "f", ["--force"]) ? "It deletes files that git does not track." : undefined;
    case "branch":
      return hasFlag(rest, "dD", ["--delete"]) ? "It deletes branches." : undefined;
    case "stash":
      return rest[0] === "drop" || rest[0] === "clear" ? "It deletes stashed changes." : undefined;
    case "checkout":
      return rest.includes("--") || rest.includes(".") || hasFlag(rest, "f", ["--force"])
        ? "It discards uncommitted changes."
        : undefined;
    case "filter-branch":
    case "filter-repo":
      return "It rewrites the whole history.";
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
