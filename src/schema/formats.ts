/** Whether a text has a format of JSON Schema. An unknown format accepts every text. */
export function isFormat(format: string, text: string): boolean {
  return FORMATS.get(format)?.(text) ?? true;
}

const PCT = "%[0-9A-Fa-f]{2}";
/** The characters of RFC 3987, which has those of RFC 3986 and letters of all languages. */
const IRI_LETTERS =
  "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{efffd}";

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DURATION =
  /^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))$/;
const HOST_LABEL = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;
const IDN_LABEL =
  /^(?![-\p{M}])[\p{L}\p{M}\p{N}\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u3007\u30fb\u200c-\u200d-]{1,63}(?<!-)$/u;
/** Characters that only some neighbours allow (RFC 5892), and those that are never allowed. */
const IDN_MISUSE = [
  /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]/u,
  /(?<!l)\u00b7|\u00b7(?!l)/u,
  /\u0375(?!\p{Script=Greek})/u,
  /(?<!\p{Script=Hebrew})[\u05f3\u05f4]/u,
  /^(?!.*[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]).*\u30fb/u,
  /[\u0660-\u0669].*[\u06f0-\u06f9]|[\u06f0-\u06f9].*[\u0660-\u0669]/u,
  /(?<![\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])\u200d/u,
];
const ATEXT = "[\\w!#$%&'*+/=?^`{|}~-]+";
const LOCAL = new RegExp(`^(?:${ATEXT}(?:\\.${ATEXT})*|"(?:[^"\\\\\\x00-\\x1f\\x7f]|\\\\[\\x20-\\x7e])*")$`);
const IDN_LOCAL =
  /^(?:[^\s@"(),:;<>[\\\].\x00-\x1f]+(?:\.[^\s@"(),:;<>[\\\].\x00-\x1f]+)*|"(?:[^"\\\x00-\x1f\x7f]|\\.)*")$/u;
const IPV4_PART = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`^(?:${IPV4_PART}\\.){3}${IPV4_PART}$`);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const JSON_POINTER = /^(?:\/(?:[^~/]|~0|~1)*)*$/u;
const RELATIVE_POINTER = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/u;
const URI_TEMPLATE = new RegExp(
  `^(?:[^\\x00-\\x20"'<>%\\\\^\`{|}]|${PCT}|\\{[+#./;?&=,!@|]?(?:[\\w.]|${PCT})+(?::[1-9]\\d{0,3}|\\*)?(?:,(?:[\\w.]|${PCT})+(?::[1-9]\\d{0,3}|\\*)?)*\\})*$`,
  "u",
);

const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["date-time", isDateTime],
  ["date", isDate],
  ["time", isTime],
  ["duration", (text: string) => DURATION.test(text)],
  ["email", (text: string) => isEmail(text, LOCAL, isHostname)],
  ["idn-email", (text: string) => isEmail(text, IDN_LOCAL, isIdnHostname)],
  ["hostname", isHostname],
  ["idn-hostname", isIdnHostname],
  ["ipv4", (text: string) => IPV4.test(text)],
  ["ipv6", isIpv6],
  ["uri", uriTest("", true)],
  ["url", uriTest("", true)],
  ["uri-reference", uriTest("", false)],
  ["iri", uriTest(IRI_LETTERS, true)],
  ["iri-reference", uriTest(IRI_LETTERS, false)],
  ["uri-template", (text: string) => URI_TEMPLATE.test(text)],
  ["uuid", (text: string) => UUID.test(text)],
  ["json-pointer", (text: string) => JSON_POINTER.test(text)],
  ["relative-json-pointer", (text: string) => RELATIVE_POINTER.test(text)],
  ["regex", isRegex],
]);

function isDate(text: string): boolean {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day >= 1 && day <= (days[month - 1] ?? 0);
}

/** A leap second is the last one of a day in UTC. */
function isTime(text: string): boolean {
  const [, hour, minute, second, sign, offsetHour = "0", offsetMinute = "0"] = TIME.exec(text) ?? [];
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false;
  if (Number(second) < 60) return true;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1);
  return (Number(hour) * 60 + Number(minute) - offset + 2 * 1440) % 1440 === 1439;
}

function isDateTime(text: string): boolean {
  return (text[10] === "T" || text[10] === "t") && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split(".").every((label) => HOST_LABEL.test(label) && !isReserved(label));
}

function isIdnHostname(text: string): boolean {
  const labels = text.split(/[.\u3002\uff0e\uff61]/);
  return text.length <= 253 && labels.every(isIdnLabel);
}

function isIdnLabel(label: string): boolean {
  return IDN_LABEL.test(label) && !isReserved(label) && !IDN_MISUSE.some((misuse) => misuse.test(label));
}

/** Hyphens in the third and fourth place are for encoded labels only, which have something after them. */
function isReserved(label: string): boolean {
  return label.slice(2, 4) === "--" && !/^xn--(?!..--)[a-z0-9-]{2,}$/i.test(label);
}

function isEmail(text: string, local: RegExp, isHost: (host: string) => boolean): boolean {
  const at = text.lastIndexOf("@");
  if (at < 1 || !local.test(text.slice(0, at))) return false;
  const host = text.slice(at + 1);
  if (!host.startsWith("[") || !host.endsWith("]")) return isHost(host);
  const address = host.slice(1, -1);
  return IPV4.test(address) || (/^IPv6:/i.test(address) && isIpv6(address.slice(5)));
}

function isIpv6(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1);
  let count = 0;
  for (const list of groups) {
    for (const [index, group] of list.entries()) {
      const isLast = list === last && index === list.length - 1;
      if (/^[0-9a-f]{1,4}$/i.test(group)) count += 1;
      else if (isLast && IPV4.test(group)) count += 2;
      else return false;
    }
  }
  return halves.length === 2 ? count <= 7 : count === 8;
}

function uriTest(letters: string, isAbsolute: boolean): (text: string) => boolean {
  let regex: RegExp | undefined;
  return (text) => {
    if (!(regex ??= uriRegex(letters, isAbsolute)).test(text)) return false;
    const [, ip] = /^(?:[^:/?#]*:)?\/\/(?:[^@/?#]*@)?\[([^\]]*)\]/.exec(text) ?? [];
    return ip === undefined || isIpv6(ip) || /^v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(ip);
  };
}

function uriRegex(letters: string, isAbsolute: boolean): RegExp {
  const unit = (further: string): string => `(?:[\\w.~!$&'()*+,;=${further}${letters}-]|${PCT})`;
  const segment = unit(":@");
  const authority = `//(?:${unit(":")}*@)?(?:\\[[^\\]]*\\]|${unit("")}*)(?::\\d*)?`;
  // Without a scheme the first segment has no colon.
  const hierarchy = (first: string): string =>
    `(?:${authority}(?:/${segment}*)*|/(?:${segment}+(?:/${segment}*)*)?|${first}+(?:/${segment}*)*|)`;
  const privateUse = letters === "" ? "" : "\\ue000-\\uf8ff";
  const tail = `(?:\\?(?:${segment}|[/?${privateUse}])*)?(?:#(?:${segment}|[/?])*)?`;
  const absolute = `[A-Za-z][A-Za-z0-9+.-]*:${hierarchy(segment)}${tail}`;
  return new RegExp(isAbsolute ? `^${absolute}$` : `^(?:${absolute}|${hierarchy(unit("@"))}${tail})$`, "u");
}

function isRegex(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
