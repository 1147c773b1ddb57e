import { normalizeProgramName } from "./program-name.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const READS = words(`
  cat tac head tail less more most bat nl wc od xxd hexdump strings base64 base32 cut paste sort uniq comm join diff cmp
  file stat md5sum sha1sum sha256sum sha512sum cksum source . grep egrep fgrep zgrep rg ag sed awk gawk mawk jq yq column
  fold rev cp install rsync scp tar zip gzip bzip2 xz openssl ls tree du find fd python python3 node ruby perl bash sh zsh
`);
const CHANGES = words(`
  rm rmdir unlink shred truncate touch mkdir tee chmod chown chgrp ln cp mv install patch rename dd rsync
`);
/** Their first operand is an expression, unless an option gave it. */
const EXPRESSION_FIRST = words("grep egrep fgrep zgrep rg ag sed awk gawk mawk jq yq chmod chown chgrp");
const EXPRESSION_OPTION = /^-(?:e|f|-expression|-regexp|-file)/;

export interface NamedFiles {
  reads: string[];
  changes: string[];
  /** What such a program does with files that it is given. */
  touches: { reads: boolean; changes: boolean };
}

/** The files that a command names in its own words, for rules that forbid: rather a name too many than one too few. */
export function namedFiles(argv: readonly string[]): NamedFiles {
  const name = normalizeProgramName(argv[0] ?? "");
  const isInPlace = name === "sed" && argv.some((word) => /^-(?:[a-zA-Z]*i|-in-place)/.test(word));
  const reads = READS.has(name) || name === "mv";
  const changes = CHANGES.has(name) || isInPlace;
  const touches = { reads, changes };
  if (!reads && !changes) return { reads: [], changes: [], touches };
  const rest = argv.slice(1);
  const operands = rest.flatMap(operandOf);
  if (EXPRESSION_FIRST.has(name) && !rest.some((word) => EXPRESSION_OPTION.test(word))) operands.shift();
  return { reads: reads ? operands : [], changes: changes ? operands : [], touches };
}

/** `--file=x` and `of=x` name x; other options name nothing. */
function operandOf(word: string): string[] {
  const value = /^(?:--[\w-]+|if|of)=(.+)$/s.exec(word)?.[1];
  if (value !== undefined) return [value];
  return word.startsWith("-") || word === "" ? [] : [word];
}
