/** Forms that no suffix rule brings together, and words that a rule would spoil: word=key. */
const irregular: ReadonlyMap<string, string> = new Map(
  (
    "news=news rating=rating ratings=rating ids=id ips=ip ads=ad vms=vm tvs=tv customer=customer customers=customer " +
    "conversion=convert conversions=convert sent=send bought=buy paid=pay children=child people=person persons=person " +
    "indices=index vertices=vertex matrices=matrix maths=math mathematics=math mathematical=math " +
    "geometry=geometr geometric=geometr weather=weather factorial=factorial height=height integral=integr"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);

/** suffix>replacement:letters that must remain; the first that fits is applied, so longer ones stand first. */
const derivations: readonly { suffix: string; replacement: string; remaining: number }[] = (
  "ification>if:2 ization>:4 isation>:4 ational>:4 cription>crib:2 fulness>:3 iveness>:3 ically>:4 " +
  "ation>:4 ator>:4 ative>:4 ement>:4 ility>il:3 ical>:4 ment>:3 ness>:4 ance>:4 ence>:4 able>:4 ible>:4 ship>:5 " +
  "less>:4 ate>:4 ize>:4 ise>:4 ion>:5 ive>:4 ful>:4 ity>:4 al>:5 ic>:5 er>:5 or>:5 ly>:4"
)
  .split(" ")
  .map((rule) => {
    const [suffix = "", replacement = "", remaining = ""] = rule.split(/[>:]/);
    return { suffix, replacement, remaining: Number(remaining) };
  });

/**
 * Brings the forms of an English word to one key (not to a dictionary word): converts, converting, converter → convert.
 * Expects lower case; words with digits or of other scripts come back unchanged.
 */
export function stem(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  if (word.startsWith("analy")) return "analy";
  return withoutEnding(derive(withoutInflection(singular(word))));
}

function singular(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:[xz]|[cs]h|us)es$/.test(word) && word.length > 4) return word.slice(0, -2);
  if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

function withoutInflection(word: string): string {
  const ending = word.endsWith("ing") ? 3 : word.endsWith("ed") && !word.endsWith("eed") ? 2 : 0;
  if (ending === 0) return word;
  const rest = word.slice(0, -ending);
  if (rest.length < 3 || !/[aeiouy]/.test(rest)) return word;
  return /(?:at|bl|iz|is|ur|ir)$/.test(rest) ? `${rest}e` : rest;
}

const lastLetters = new Set(derivations.map(({ suffix }) => suffix.slice(-1)));

function derive(word: string): string {
  if (!lastLetters.has(word.slice(-1))) return word;
  for (const { suffix, replacement, remaining } of derivations) {
    if (word.length - suffix.length >= remaining && word.endsWith(suffix)) {
      return word.slice(0, -suffix.length) + replacement;
    }
  }
  return word;
}

function withoutEnding(word: string): string {
  let key = word;
  if (key.length > 3 && /[ey]$/.test(key)) key = key.slice(0, -1);
  const last = key.length - 1;
  if (key.length > 3 && key[last] === key[last - 1]) key = key.slice(0, -1);
  return key;
}
