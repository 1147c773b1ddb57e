import { carriesCommand, readWrapper } from "./command-wrappers.ts";
import type { SeenCommand } from "./parse-command.ts";
import { FIND_EXPRESSIONS, isHarmlessSed } from "./read-only-forms.ts";
import { isReadOnlyArgv } from "./rebuild-command.ts";

/** The program by its name alone, or in a folder of the system. Any other path may be a link, a copy or a script. */
const SYSTEM_PROGRAM = /^(?:\/(?:usr\/)?s?bin\/)?([^/\\]+)$/;

/**
 * Whether a command is known to start no other program, with these words. Turned round on purpose: a list of programs
 * that start others is never complete, so every program that is not known may start any other. Which file a name means
 * is for the caller to check.
 */
export function startsNothing({ name, argv, open }: SeenCommand): boolean {
  const [program = "", ...words] = argv;
  if (SYSTEM_PROGRAM.exec(program)?.[1] !== name) return false;
  if (NEVER_STARTS.has(name)) return true;
  if (isBuiltin(name)) return isPlainBuiltin(name, words, open);
  // What a wrapper runs is in the list of commands as well.
  const wrapped = readWrapper(name, words);
  if (wrapped) return wrapped.certain && wrapped.commands.length + wrapped.texts.length > 0;
  if (open.length > 0) return false;
  if (name === "find" && words.every(isPlainFindWord)) return true;
  return (name === "sed" && startsNoSed(words)) || isReadOnlyArgv(argv);
}

/** With any arguments. Left out: those with an option that runs a program, such as sort, split, file, install, tar. */
const NEVER_STARTS: ReadonlySet<string> = new Set(
  `basename cat chgrp chmod chown cksum cmp comm cp cut date df dirname du egrep expand expr factor fgrep fmt fold
   free grep groups head hexdump hostname id join jq link ln locale logname ls lscpu md5sum mkdir mkfifo mktemp
   mv nl nproc numfmt od paste pathchk pgrep pidof pkill printenv ps readlink realpath rev rm rmdir seq sha1sum sha224sum
   sha256sum sha384sum sha512sum b2sum shred shuf sleep stat strings sum sync tac tail tee touch tr tree truncate tsort
   tty uname unexpand uniq unlink uptime users wc which who whoami xxd yes base32 base64 column
   echo true false pwd kill cd pushd popd dirs : break continue exit return shift umask ulimit times type`.split(/\s+/),
);

/** Builtins of bash that evaluate or run some of their words. Wrappers such as `exec` and `trap` are read as wrappers. */
const BUILTINS: ReadonlySet<string> = new Set(
  `. alias bg bind caller compgen complete compopt declare disown enable export fc fg getopts hash help history jobs let local
   logout mapfile printf read readarray readonly set shopt source suspend test [ typeset unalias unset wait`.split(
    /\s+/,
  ),
);

/** Whether it is a builtin that evaluates or runs some of its words. */
export function isBuiltin(name: string): boolean {
  return BUILTINS.has(name);
}

/** Whether a builtin evaluates none of these words as a name with a subscript, as arithmetic or as a command. */
export function isPlainBuiltin(name: string, words: readonly string[], open: readonly string[] = []): boolean {
  return open.every((word) => word === "$!") && (PLAIN_BUILTINS.get(name)?.(words) ?? false);
}

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const PLAIN_ASSIGNMENT = /^[A-Za-z_]\w*(?:\+?=(?!\().*)?$/s;
const isOption = (word: string): boolean => word.startsWith("-");

type WordCheck = (words: readonly string[]) => boolean;

function names(options: RegExp): WordCheck {
  return (words) =>
    words.every((word) => (isOption(word) ? options.test(word) : PLAIN_NAME.test(word) && !carriesCommand(word)));
}

function assignments(options: RegExp): WordCheck {
  return (words) =>
    words.every((word) => (isOption(word) ? options.test(word) : PLAIN_ASSIGNMENT.test(word) && !carriesCommand(word)));
}

function each(shape: RegExp): WordCheck {
  return (words) => words.every((word) => shape.test(word));
}

const noVariableTest: WordCheck = (words) => !words.some((word) => /^-[vR]$/.test(word));

const PLAIN_BUILTINS: ReadonlyMap<string, WordCheck> = new Map<string, WordCheck>([
  ["test", noVariableTest],
  ["[", noVariableTest],
  ["printf", ([format = "-"]) => !isOption(format)],
  ["read", names(/^-[rs]+$/)],
  ["unset", names(/^-[vf]$/)],
  ["export", assignments(/^-p$/)],
  ["readonly", assignments(/^-p$/)],
  ["local", assignments(/^$/)],
  ["declare", assignments(/^-[rx]$/)],
  ["typeset", assignments(/^-[rx]$/)],
  ["set", each(/^(?:[-+][eufx]*o?|pipefail)$/)],
  ["shopt", names(/^-[sup]$/)],
  ["jobs", each(/^(?:-[lnprs]+|%\w+)$/)],
  ["wait", each(/^(?:-[nf]|\d+|%\w+|\$!)$/)],
  ["fg", each(/^%\w+$/)],
  ["bg", each(/^%\w+$/)],
  ["disown", each(/^(?:-[ahr]+|\d+|%\w+|\$!)$/)],
  ["hash", each(/^-r$/)],
  ["mapfile", names(/^-t$/)],
  ["readarray", names(/^-t$/)],
]);

function isPlainFindWord(word: string): boolean {
  const isKnown = [FIND_EXPRESSIONS.plain, FIND_EXPRESSIONS.text, FIND_EXPRESSIONS.path, FIND_EXPRESSIONS.writes];
  return !isOption(word) || isKnown.some((list) => list.has(word));
}

function startsNoSed(words: readonly string[]): boolean {
  const scripts = words.filter((word) => !isOption(word));
  const isPlain = words.every((word) => !isOption(word) || /^-[nEriz]+$/.test(word));
  return isPlain && isHarmlessSed(scripts[0] ?? "");
}
