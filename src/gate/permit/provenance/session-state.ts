import { isObject, type JsonSchema } from "../../../schema/json-schema.ts";
import {
  type Argument,
  isStrong,
  itemsOf as schemaOfItems,
  makesSomethingNew,
  resolved,
  type ToolRoles,
  wordsOf,
} from "./roles.ts";
import {
  addressesAbove,
  addressesIn,
  addressForm,
  decodedForms,
  fileAdded,
  formFieldsIn,
  type HashKey,
  isAnswer,
  isFileName,
  isId,
  isName,
  isOneTimeCode,
  isPrivateNumber,
  isWord,
  itemsOf,
  keyedHash,
  MAKES_FILES,
  numbersIn,
  pathForm,
  pathMade,
  plainForm,
  printedData,
  returnsDocument,
  saysCodeIsSent,
  tellingWords,
  withWholeAccounts,
} from "./text-forms.ts";

/** What a session learns, in the order in which it learned it. Texts are hashes with the session's key. Plain JSON. */
export type ProvenanceEntry =
  | { type: "key"; key: HashKey }
  /** `items`: words as hashes, other characters as they are; a negative hash is a short number that says nothing alone. */
  | { type: "user"; id: number; items: (number | string)[]; addresses: number[]; words: number[]; isSystem?: true }
  | ResultEntry
  | { type: "approved"; values: number[] };

/** What one result has brought. */
export interface ResultEntry {
  type: "result";
  callId: string;
  toolName: string;
  /** It has text of others. */
  isText?: true;
  /** Whole short fields of the user's own data. */
  own?: number[];
  /** Ids and paths of what the call has made, and the form fields of the page that it read. */
  made?: number[];
  /** A code that confirms the call was sent (1), or such a code was used (-1). */
  codes?: number;
  addresses?: number[];
  privateNumbers?: number[];
  /** Values that the call wrote and nobody vouched for: reading them back does not make them trusted. */
  written?: number[];
  records?: RecordEntry[];
}

/** The values and the telling words of one record: `service` of the fields that others cannot write. */
interface RecordEntry {
  service: number[];
  others: number[];
  /** Days and numbers are negative: they stand in many records. */
  serviceWords: number[];
  otherWords: number[];
}

interface StoredRecord extends RecordEntry {
  about: string;
  /** It stood beside text of others: a stranger may be its sender. */
  isText: boolean;
  group: Group;
}

/** The records of one result. */
interface Group {
  size: number;
  counts: Map<number, number>;
}

/** What the judge must know about the called tool. */
export interface JudgedTool {
  name: string;
  isReadOnly: boolean;
  /** Sends what it is given to an address. */
  reachesOut: boolean;
  /** Its commands have rules of their own, and run confined: only addresses in them are judged. */
  isConfined: boolean;
  /** Shows pages: an address that stood literally in a text is opened as it is read. */
  opensPages: boolean;
  /** Part of Haft: only what its schema names has authority, and its other effects can be undone. */
  isBuiltIn: boolean;
  roles: ToolRoles;
}

/** A value that nobody vouches for. */
export interface Unvouched {
  argument: string;
  value: string;
  authority: Argument["role"] | "link" | "private" | "call";
}

export interface Judgement {
  unvouched: Unvouched[];
  /** Whether the call has arguments with authority: without one, nothing speaks for it. */
  hasAuthority: boolean;
}

/** A value of at most so many words and other characters can be named. */
const MAX_ITEMS = 24;
/** Max words and characters of the user's messages that vouch, in all. */
const MAX_SAID = 20_000;
const MAX_RECORDS = 2000;
const MAX_HASHES = 100_000;
const MAX_NAMED = 64;
/** What one result adds to the state. */
const MAX_OF_RESULT = 4000;
const MAX_OF_RECORDS = 20_000;
/** Longer results are not read to the end: what was not read vouches for nothing. */
const MAX_READ = 2_000_000;
const SLICE = 4096;
/** Addresses are shorter. */
const OVERLAP = 300;
const BEFORE_NUMBER = ["#", "id", "no", "number"];

/** What one session knows about where values came from. Built from entries, in their order. */
export class SessionState {
  readonly #key: HashKey;
  readonly #itemHashes = new Map<string, number>();
  readonly #messages = new Set<number>();
  /** Every run of words that the user wrote. */
  readonly #spans = new Set<number>();
  readonly #saidWords = new Set<number>();
  readonly #saidAddresses = new Set<number>();
  readonly #own = new Set<number>();
  readonly #made = new Map<number, string>();
  readonly #approved = new Set<number>();
  readonly #written = new Set<number>();
  readonly #addresses = new Set<number>();
  readonly #private = new Set<number>();
  readonly #records = new Map<number, StoredRecord[]>();
  /** The records in which a service wrote a word. */
  readonly #tellers = new Map<number, StoredRecord[]>();
  /** Codes that were sent and not used yet, by server. */
  readonly #codes = new Map<string, number>();
  #recordCount = 0;
  #saidItems = 0;
  /** Calls whose results had text of others. */
  readonly sources: { callId: string; toolName: string }[] = [];
  /** There were more of them. */
  hasMoreSources = false;
  /** Text of others was read. */
  hasText = false;
  hasUserText = false;
  hasResults = false;

  constructor(key: HashKey) {
    this.#key = key;
  }

  /** What an entry of a user's message has; undefined if the message is known. A quoted line (`> …`) is somebody else's. */
  messageEntry(text: string, { isSystem = false } = {}): ProvenanceEntry | undefined {
    const id = keyedHash(this.#key, `${isSystem ? "system" : "user"} ${text}`);
    if (this.#messages.has(id)) return undefined;
    const own = text.replace(/^[ \t]*>.*$/gm, "\n");
    // A full stop without a space behind it ends an address, too.
    const spaced = own.replace(/([\p{Ll}\p{N}])\.(?=\p{Lu})/gu, "$1. ");
    const forms = new Set([own, spaced, withWholeAccounts(spaced)]);
    const items = [...forms].flatMap((form) => [...this.#hashedItems(form), "\n"]);
    return {
      type: "user",
      id,
      items: items.slice(0, MAX_SAID),
      addresses: addressesIn(withWholeAccounts(spaced))
        .slice(0, MAX_OF_RESULT)
        .map((one) => this.#hashAddress(one)),
      words: isSystem ? [] : tellingWords(own, false).slice(0, MAX_OF_RESULT).map(this.#hashWord),
      isSystem: isSystem || undefined,
    };
  }

  apply(entry: ProvenanceEntry): void {
    switch (entry.type) {
      case "key":
        break;
      case "user":
        this.#messages.add(entry.id);
        if (!entry.isSystem) this.hasUserText = true;
        addAll(this.#saidAddresses, entry.addresses);
        addAll(this.#saidWords, entry.words);
        this.#addSpans(entry.items);
        break;
      case "approved":
        addAll(this.#approved, entry.values);
        break;
      case "result":
        this.#applyResult(entry);
    }
  }

  #applyResult(entry: ResultEntry): void {
    const { callId, toolName, isText, own = [], made = [], addresses = [], privateNumbers = [], written = [] } = entry;
    this.hasResults = true;
    if (isText) {
      this.hasText = true;
      this.sources.push({ callId, toolName });
      if (this.sources.length > MAX_NAMED) {
        this.sources.shift();
        this.hasMoreSources = true;
      }
    }
    const codes = (this.#codes.get(serverOf(toolName)) ?? 0) + (entry.codes ?? 0);
    if (entry.codes) this.#codes.set(serverOf(toolName), Math.max(0, codes));
    addAll(this.#written, written);
    addAll(this.#own, own);
    addAll(this.#addresses, addresses);
    addAll(this.#private, privateNumbers);
    const about = toolName.toLowerCase();
    for (const each of made) this.#made.set(each, `${this.#made.get(each) ?? ""} ${about}`);
    const records = (entry.records ?? []).slice(0, MAX_RECORDS - this.#recordCount);
    this.#recordCount += records.length;
    const group: Group = { size: records.length, counts: new Map() };
    for (const record of records) {
      const { service, others, serviceWords, otherWords } = record;
      const all = [...service, ...others, ...serviceWords.map(Math.abs), ...otherWords];
      for (const each of new Set(all)) group.counts.set(each, (group.counts.get(each) ?? 0) + 1);
      const stored = { ...record, about, group, isText: isText ?? false };
      for (const value of service) {
        const known = this.#records.get(value) ?? [];
        known.push(stored);
        if (known.length > MAX_NAMED) known.shift();
        this.#records.set(value, known);
      }
      for (const word of new Set(serviceWords.filter((each) => each > 0))) {
        const known = this.#tellers.get(word) ?? [];
        if (known.push(stored) === 1) this.#tellers.set(word, known);
      }
    }
  }

  /** Which arguments nobody vouches for. `isStrict`: the user must have named each value. */
  judge(tool: JudgedTool, input: unknown, isStrict: boolean): Judgement {
    const all = tool.roles.argumentsOf(input);
    // It carries nothing to another place, and the labels still count.
    const carries = ({ role, value }: Argument): boolean => isStrong(role) || addressesIn(value).length > 0;
    if (tool.roles.seemsReadOnly && !isStrict && !all.some(carries)) return { unvouched: [], hasAuthority: false };
    return tool.isReadOnly ? this.#judgeRead(tool, all, isStrict) : this.#judgeEffect(tool, all, isStrict);
  }

  #judgeRead({ reachesOut }: JudgedTool, all: Argument[], isStrict: boolean): Judgement {
    const checked = reachesOut ? all.filter(({ role }) => role === "destination") : [];
    const unvouched = checked.filter((each) => {
      if (this.#isVouched(each, isStrict)) return false;
      return isStrict || !this.#addresses.has(this.#hashAddress(each.value));
    });
    return { unvouched: unvouched.map(asUnvouched), hasAuthority: false };
  }

  #judgeEffect(tool: JudgedTool, all: Argument[], isStrict: boolean): Judgement {
    const name = tool.name.replace(/^.*__/, "");
    // A file that a tool of Haft writes can be taken back.
    const isNew = makesSomethingNew(name) || (tool.isBuiltIn && /^(write|save)(_|$)/.test(name));
    const named = all.filter(({ exposes }) => !exposes);
    const of = (...roles: Argument["role"][]): Argument[] => named.filter(({ role }) => roles.includes(role));
    const destinations = of("destination");
    const targets = isNew ? of("target").filter(({ path }) => path.includes("[")) : of("target");
    const strong = [...destinations, ...targets, ...(tool.isConfined ? [] : of("code"))];
    // What is copied into an own folder is named by an argument of any name.
    if (targets.some(({ value }) => this.#isMadePath(value)))
      strong.push(...of("other").filter(({ value }) => /^\s*(?:[~\\/]|[a-z]:[\\/])/i.test(value)));
    // A right that is given to somebody whom the user named is covered by the name.
    if (destinations.length === 0) strong.push(...of("privilege"));
    const isUnlabelled = !tool.isBuiltIn && !tool.roles.isExplicit;
    const checked = strong.length > 0 || !isUnlabelled ? strong : of("other");
    const exposing = all.filter(({ exposes }) => exposes);
    const isRead = ({ role, value }: Argument): boolean =>
      tool.opensPages && !isStrict && role === "destination" && this.#addresses.has(this.#hashAddress(value));
    const [page] = destinations.length === 1 ? destinations : [];
    const isField = ({ role, value }: Argument): boolean =>
      role === "target" && page !== undefined && !isStrict && this.#made.has(this.#hashField(page.value, value));
    // A service has sent a code to confirm what this session began, and nobody has used it.
    const isCode = ({ path, value, role }: Argument): boolean =>
      role !== "destination" && role !== "target" && hasCode && isOneTimeCode(path, value);
    const hasCode = !isStrict && (this.#codes.get(serverOf(tool.name)) ?? 0) > 0;
    const words = isStrict || !OPENS.test(name) || EXPOSES.test(name) ? 2 : 1;
    const unnamed = [...checked, ...exposing].filter(
      (each) => !this.#isVouched(each, isStrict, words, serverOf(tool.name)) && !isField(each) && !isCode(each),
    );
    const unvouched = unnamed.filter((each) => !isRead(each)).map(asUnvouched);
    // Nobody vouches for an address that is only read: the labels still count.
    const isFollowed = unnamed.length > unvouched.length;
    if (checked.length === 0 && isUnlabelled && !isNew && !this.#isApproved("call", tool.name))
      unvouched.push({ argument: "", value: tool.name, authority: "call" });
    const texts = of("content", "other");
    if (isNew && isStrict) {
      const isCopied = ({ value }: Argument): boolean => value.length >= 4 && isName(value);
      unvouched.push(
        ...[...texts, ...of("target")]
          .filter((each) => isCopied(each) && !this.#isVouched(each, true))
          .map((each): Unvouched => ({ argument: each.path, value: each.value, authority: "content" })),
      );
    }
    if (destinations.length > 0) unvouched.push(...texts.flatMap((each) => this.#privateIn(each)));
    const outgoing = [...texts, ...of("none", "amount"), ...(tool.isConfined ? of("code") : [])];
    if (destinations.length > 0 || tool.reachesOut || tool.isConfined)
      unvouched.push(...outgoing.flatMap((each) => this.#linksIn(each, isStrict)));
    return { unvouched, hasAuthority: checked.length > 0 && !isFollowed };
  }

  #privateIn({ path, value }: Argument): Unvouched[] {
    if (this.#private.size === 0) return [];
    return numbersIn(value.slice(0, 20_000))
      .filter((one) => this.#private.has(this.#hash(`number ${one}`)) && !this.#spans.has(this.valueHash(one)))
      .map((one) => ({ argument: path, value: one, authority: "private" as const }))
      .filter(({ value: one }) => !this.#isApproved("private", one));
  }

  #linksIn(each: Argument, isStrict: boolean): Unvouched[] {
    // A recipient that was approved may stand in a text; what was approved in a text is no recipient.
    return addressesIn(each.value)
      .filter((link) => each.role !== "code" || !isFileName(link, each.value))
      .filter((link) => !this.#isVouched({ ...each, value: link, role: "destination" }, isStrict))
      .map((link) => ({ argument: each.path, value: link, authority: "link" as const }))
      .filter(({ value }) => !this.#isApproved("link", value));
  }

  /** Somebody or something vouches for the value. Without `role` rules of their own, a value of an argument named `path`. */
  #isVouched({ path, value, role }: Argument, isStrict: boolean, words = 2, server?: string): boolean {
    if (this.#isApproved(role, value)) return true;
    const kind = kindOf(path);
    if (role === "destination") {
      const parts = value.includes("@") ? value.split(/[,;]\s*/).filter((part) => part.trim() !== "") : [];
      if (parts.length > 1) return parts.every((part) => this.#isVouched({ path, value: part, role }, isStrict));
    }
    // Anyone may register the base64 of a word as a name.
    const forms = decodedForms(value, { base64: role !== "destination" && role !== "privilege" });
    if (role === "destination") forms.push(...writtenAs(value));
    return forms.some((form) => {
      const hash = this.valueHash(form);
      if (role === "target" && this.#made.get(hash)?.includes(kind ?? "")) return true;
      if (this.#isSaid(form, hash, role)) return true;
      // An id of the user's own data does not show that anyone wanted this entry.
      if (!isStrict && role !== "target" && this.#own.has(hash)) return true;
      if (this.#isOfNamedRecord(hash, kind, role === "target" ? words : 0)) return true;
      // What a server that nobody labelled calls an id is one for its own tools, if they only fetch or add something.
      if (role !== "target" || words !== 1 || server === undefined) return false;
      const ofKind = this.#hash(`id ${server} ${kind} ${hash}`);
      const ofTool = this.#hash(`id ${server} ${undefined} ${hash}`);
      return this.#isOfNamedRecord(ofKind, undefined, 1, true) || this.#isOfNamedRecord(ofTool, kind, 1, true);
    });
  }

  #isApproved(authority: Unvouched["authority"], value: string): boolean {
    return this.#approved.size > 0 && this.#approved.has(this.#approvalHash(authority, value));
  }

  #isSaid(value: string, hash: number, role: Argument["role"]): boolean {
    if (this.#spans.has(hash)) return true;
    if (role === "destination") {
      const form = addressForm(value);
      if (!/^[\w-]+(\.[\w-]+)+(\/|$)/.test(form) || form.includes("@")) return false;
      return addressesAbove(form).some((each) => this.#saidAddresses.has(this.#hash(`address ${each}`)));
    }
    if (role === "target" && this.#isMadePath(value)) return true;
    // A longer path to a file that the user named, below the folder of the work. Not one of the machine or the network.
    if (role !== "target" || !/[\\/]/.test(value) || /^\s*(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(value)) return false;
    const name = value.split(/[\\/]/).findLast((part) => part !== "");
    return name !== undefined && /\.\w+$/.test(name) && !value.includes("..") && this.#spans.has(this.valueHash(name));
  }

  /** A file that this session has made, or a path below a folder that it has made. */
  #isMadePath(value: string): boolean {
    const path = pathForm(value);
    // No escapes, no variables, no share of another machine.
    if (!/^\/(?!\/)[\p{L}\p{N}/ ._()@+,=-]+$/u.test(value) || path.includes("..")) return false;
    const isBelow = addressesAbove(path).some((each) => this.#made.has(this.#hash(`folder ${each}`)));
    return isBelow || this.#made.has(this.valueHash(path));
  }

  /**
   * The service made the value in a record that the user's words single out. An id may be named by the words of its record,
   * because it points at just that, but one word of many is chance; an address (`words` is 0) only by words that the service
   * made.
   */
  #isOfNamedRecord(hash: number, kind: string | undefined, words: number, isOnce = false): boolean {
    const isTarget = words > 0;
    return (this.#records.get(hash) ?? []).some(({ about, group, service, others, serviceWords, otherWords }) => {
      if (isOnce && group.counts.get(hash) !== 1) return false;
      if (isTarget && kind !== undefined) {
        const hasKind = service.includes(this.#hash(`some ${hash}`));
        if (hasKind ? !service.includes(this.#hash(`${kind} ${hash}`)) : !about.includes(kind)) return false;
      }
      const max = Math.max(1, group.size / 4);
      const isRare = (each: number): boolean => (group.counts.get(each) ?? 0) <= max;
      // A name that stands beside two addresses names neither.
      const isOnly = (word: number): boolean =>
        word < 0 ? isRare(-word) : (this.#tellers.get(word) ?? []).every((each) => each.service.includes(hash));
      const told = (isTarget ? [...serviceWords, ...otherWords] : serviceWords).filter(
        (word) => this.#saidWords.has(Math.abs(word)) && (isTarget ? isRare(Math.abs(word)) : isOnly(word)),
      );
      if (told.length >= Math.max(1, words)) return true;
      return (isTarget ? [...service, ...others] : service).some((field) => this.#spans.has(field) && isRare(field));
    });
  }

  /** Whether the value is known from the user's own data, or an id from a service, so that only the user's naming is missing. */
  isKnown({ value, authority }: Unvouched): boolean {
    const records = this.#records.get(this.valueHash(value)) ?? [];
    return this.#own.has(this.valueHash(value)) || records.some((each) => authority === "target" || !each.isText);
  }

  approvedEntry(values: readonly Unvouched[]): ProvenanceEntry {
    return { type: "approved", values: values.map(({ authority, value }) => this.#approvalHash(authority, value)) };
  }

  /**
   * Reads a result, in small steps: the caller may pause at each `yield`. `values`: the data, or the text if there is none.
   */
  *readResult(
    { callId, tool, input, isText, isSensitive }: ReadCall,
    values: readonly unknown[],
  ): Generator<void, ResultEntry> {
    const { roles } = tool;
    const given = roles.argumentsOf(input).slice(0, MAX_OF_RESULT);
    const unvouched = given.filter((each) => !this.#isVouched({ ...each, role: "other" }, false));
    const isReadOnly = tool.isReadOnly || roles.seemsReadOnly;
    const echoed = new Set((isReadOnly ? unvouched : given).map(({ value }) => this.valueHash(value)));
    const found = new Found();
    if (!isReadOnly && this.hasText) {
      for (const { path, value } of unvouched) {
        const isNobodys = (part: string): boolean => !this.#isVouched({ path, value: part, role: "other" }, false);
        // It may be read back line by line.
        const parts = [...linesOf(value), ...addressesIn(value)].filter(isNobodys);
        for (const part of [value, ...parts]) found.written.add(this.valueHash(part));
      }
    }
    // Of a server that nobody labelled count the ids of its records, for its own tools, and what its short answers say.
    const isUnlabelled = isText && roles.isUnlabelled;
    const name = tool.name.replace(/^.*__/, "");
    const server = isUnlabelled && !returnsDocument(name, given) ? serverOf(tool.name) : undefined;
    const answers = isUnlabelled && isAnswer(values) && given.every(({ role }) => role !== "code");
    const makes = !isReadOnly && (!isText || answers);
    const isMaker = makes && (!answers || wordsOf(name).some((word) => MAKES_FILES.test(word)));
    const texts = given.map(({ value }) => value.toLowerCase());
    // A page may answer anything.
    const isPage =
      answers && texts.some((each) => !each.includes("@") && /[.:]/.test(each) && addressesIn(each).length > 0);
    const inputs = given.map(({ value }) => pathForm(value));
    const folders = isMaker ? inputs.filter((each, at) => given[at]?.role === "target" && each.startsWith("/")) : [];
    const [page, another] = given.filter(({ role }) => role === "destination");
    if (!isReadOnly && given.some(({ path, value }) => isOneTimeCode(path, value))) found.codes--;
    let left = MAX_READ;
    let hasText = false;

    const addName = (part: string, field: string, trust: string | undefined, record: OpenRecord | undefined): void => {
      const hash = this.valueHash(part);
      if (echoed.has(hash) || this.#written.has(hash)) return;
      if (trust === "own") found.own.add(hash);
      if (trust === "service" && makes) found.made.add(hash);
      if (!record) return;
      const isService = trust === "own" || trust === "service";
      (isService ? record.service : record.others).add(hash);
      const kind = FILES.test(field) ? "file" : kindOf(field);
      if (isService && kind !== undefined)
        record.service.add(this.#hash(`some ${hash}`)).add(this.#hash(`${kind} ${hash}`));
      if (!isService && server !== undefined && isId(field, part))
        record.service.add(this.#hash(`id ${server} ${kind} ${hash}`));
      for (const word of tellingWords(part, true)) {
        const each = this.#hashWord(word);
        if (isService) record.serviceWords.add(/^day |^\d/.test(word) ? -each : each);
        else record.otherWords.add(each);
      }
    };

    const leaf = function* (
      this: SessionState,
      text: string,
      field: string,
      schema: JsonSchema | undefined,
      record: OpenRecord | undefined,
    ): Generator<void> {
      left -= text.length;
      if (left < 0) {
        found.isWhole = false;
        return;
      }
      if (makes) {
        const file = isMaker ? fileAdded(text) : undefined;
        const folder = pathMade(text, folders, inputs);
        const [, above = "", base = ""] = /^(.*)\/(.*)$/.exec(file ?? "") ?? [];
        // What a call was given, its answer may only repeat: not a part of a longer path or link.
        const isGiven = texts.some((each) => each.includes(base.toLowerCase()) && !/^\S*\/\S*$/.test(each));
        if (file && (!answers || (!isGiven && (!isPage || inputs.includes(above)))))
          found.made.add(this.valueHash(file));
        if (folder) found.made.add(this.#hash(`folder ${folder}`));
        if (!isPage && saysCodeIsSent(text, texts)) {
          // Somebody vouches for the call as it is: only then a code that was sent for it says something.
          const { unvouched: nobodys, hasAuthority } = this.judge(tool, input, false);
          if (!this.hasText || (hasAuthority && nobodys.length === 0)) found.codes = 1;
        }
      }
      const trust =
        roles.trustOf(field, schema) ?? (isText ? "others" : makes && /^ids?_?$/.test(field) ? "service" : undefined);
      for (const part of trust === "own" ? linesOf(text) : [text]) {
        const isShort = isName(part);
        if (isShort && part.trim() !== "") addName(part, field, trust, record);
        if (isSensitive && isShort) {
          const number = part.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
          if (isPrivateNumber(number)) found.privateNumbers.add(this.#hash(`number ${number}`));
        }
        if (trust === "others" || (!isShort && trust !== undefined)) hasText = true;
      }
      for (let at = 0; at < text.length; at += SLICE) {
        const slice = text.length <= SLICE ? text : text.slice(at, at + SLICE + OVERLAP);
        for (const one of addressesIn(slice)) found.addresses.add(this.#hashAddress(one));
        if (page && !another) for (const id of formFieldsIn(slice)) found.made.add(this.#hashField(page.value, id));
        yield;
      }
    }.bind(this);

    const walk = function* (
      this: SessionState,
      value: unknown,
      schema: JsonSchema | undefined,
      at: { field: string; record?: OpenRecord; isItem?: boolean; depth: number },
    ): Generator<void> {
      const { field, record, isItem, depth } = at;
      if (value === null || value === undefined || typeof value === "boolean" || depth > 30 || left < 0) return;
      const root = roles.output ?? {};
      if (Array.isArray(value)) {
        const items = schema && schemaOfItems(root, schema);
        for (const one of value) yield* walk(one, items, { field, record, isItem: true, depth: depth + 1 });
      } else if (isObject(value)) {
        const own = !record || isItem ? found.open() : record;
        const properties = schema?.["properties"];
        const all = schema?.["additionalProperties"];
        const rest = isObject(all) && Object.keys(all).length > 0 ? all : undefined;
        for (const [key, one] of Object.entries(value)) {
          const isDeclared = isObject(properties) && Object.hasOwn(properties, key);
          const declared = isDeclared ? properties[key] : rest;
          const below = isObject(declared) ? resolved(root, declared) : undefined;
          if (isDeclared || (!rest && /^[a-z_][a-zA-Z0-9_]*$/.test(key))) {
            yield* walk(one, below, { field: key, record: own, depth: depth + 1 });
            continue;
          }
          // The key is data, such as a name: each entry is a record of its own.
          const entry = found.open();
          if (record && !isItem) yield* leaf(key, field, schema, record);
          yield* leaf(key, field, schema, entry);
          yield* walk(one, below, { field, record: entry, depth: depth + 1 });
        }
      } else yield* leaf(String(value), field, schema, record);
    }.bind(this);

    const read = (value: unknown): unknown => (typeof value === "string" ? printedData(value) : undefined) ?? value;
    const data = server === undefined ? values : values.map(read);
    for (const value of data) yield* walk(value, roles.output, { field: "*", depth: 0 });
    return found.entry({ callId, toolName: tool.name, isText: isText || hasText });
  }

  /** Equal for equal plain forms. A run of the user's words with the same items has it too. */
  valueHash(value: string): number {
    const items = itemsOf(plainForm(value.slice(0, 2000)));
    if (items.length > MAX_ITEMS) return this.#hash(`long ${plainForm(value)}`);
    let fold = 0x9e3779b9;
    let other = 0x85ebca6b;
    for (const item of items) {
      const hash = this.#itemHash(item);
      fold = foldItem(fold, hash);
      other = foldOther(other, hash);
    }
    return joined(fold, other);
  }

  #addSpans(given: readonly (number | string)[]): void {
    const items = given.slice(0, Math.max(0, MAX_SAID - this.#saidItems));
    this.#saidItems += items.length;
    const word = (at: number): boolean => typeof items[at] === "number";
    const hashes = items.map((item) => (typeof item === "number" ? Math.abs(item) : this.#itemHash(item)));
    const owned = this.#itemHash("s");
    // "Ann's calendar" names Ann; "ann's@firm.com" is an address.
    const isPossessive = (at: number): boolean =>
      items[at] === "'" && items[at + 1] === owned && !isJoining(items[at + 2], "@.-+'/_") && !word(at + 2);
    for (let from = 0; from < items.length; from++) {
      const before = items[from - 1];
      if (isBlank(items[from]) || (word(from - 1) && !word(from))) continue;
      // What follows the dot or the @ of an address is a part of it; a mention is not one.
      if (isJoining(before, "@.-+'") && word(from - 2)) continue;
      let fold = 0x9e3779b9;
      let other = 0x85ebca6b;
      for (let to = from; to < Math.min(items.length, from + MAX_ITEMS); to++) {
        if (items[to] === "\n") break;
        fold = foldItem(fold, hashes[to] ?? 0);
        other = foldOther(other, hashes[to] ?? 0);
        const next = items[to + 1];
        if (isBlank(items[to]) || next === "@" || (word(to + 1) && !word(to))) continue;
        if (isJoining(next, ".-+/'") && word(to + 2) && !isPossessive(to + 1)) continue;
        if (to === from && Number(items[to]) < 0) continue;
        this.#spans.add(joined(fold, other));
      }
    }
  }

  #hashedItems(text: string): (number | string)[] {
    const items = itemsOf(plainForm(text).slice(0, MAX_SAID * 8));
    return items.map((item, at) => {
      if (!isWord(item)) return item;
      const hash = this.#itemHash(item);
      if (!/^\d{1,3}$/.test(item)) return hash;
      const before = items.slice(Math.max(0, at - 3), at).findLast((each) => !" :.".includes(each));
      return before !== undefined && BEFORE_NUMBER.includes(before) ? hash : -hash;
    });
  }

  #itemHash(item: string): number {
    let hash = this.#itemHashes.get(item);
    if (hash === undefined) {
      if (this.#itemHashes.size > 5000) this.#itemHashes.clear();
      this.#itemHashes.set(item, (hash = this.#hash(item)));
    }
    return hash;
  }

  #hash(text: string): number {
    return keyedHash(this.#key, text);
  }

  #hashAddress(address: string): number {
    return this.#hash(`address ${addressForm(address)}`);
  }

  #hashField(page: string, id: string): number {
    return this.#hash(`field ${addressForm(page)} ${id}`);
  }

  readonly #hashWord = (word: string): number => this.#hash(`word ${word}`);

  #approvalHash(authority: Unvouched["authority"], value: string): number {
    return this.#hash(`approved ${authority} ${plainForm(value)}`);
  }
}

/** The call whose result is read. */
export interface ReadCall {
  callId: string;
  tool: JudgedTool;
  input: unknown;
  /** Its tool is labelled `untrusted_input`: a field that nobody labelled is text of others. */
  isText: boolean;
  /** Its result is private. */
  isSensitive: boolean;
}

class OpenRecord {
  readonly service = new Set<number>();
  readonly others = new Set<number>();
  readonly serviceWords = new Set<number>();
  readonly otherWords = new Set<number>();
}

/** What was found in a result so far. */
class Found {
  readonly own = new Set<number>();
  readonly made = new Set<number>();
  readonly addresses = new Set<number>();
  readonly privateNumbers = new Set<number>();
  readonly written = new Set<number>();
  readonly records: OpenRecord[] = [];
  codes = 0;
  isWhole = true;

  open(): OpenRecord {
    const record = new OpenRecord();
    if (this.records.length < MAX_RECORDS) this.records.push(record);
    else this.isWhole = false;
    return record;
  }

  entry({ callId, toolName, isText }: { callId: string; toolName: string; isText: boolean }): ResultEntry {
    const list = (set: ReadonlySet<number>): number[] | undefined =>
      set.size === 0 ? undefined : [...set].slice(0, MAX_OF_RESULT);
    const some = (set: ReadonlySet<number>): number[] => [...set].slice(0, MAX_NAMED);
    const records = this.records.flatMap(({ service, others, serviceWords, otherWords }): RecordEntry[] =>
      service.size + others.size === 0
        ? []
        : [
            {
              service: some(service),
              others: some(others),
              serviceWords: some(serviceWords),
              otherWords: some(otherWords),
            },
          ],
    );
    const size = records.reduce((sum, each) => sum + Object.values(each).flat().length, 0);
    // A part of the records would make words look telling that are not. Without a field of a service they vouch for nothing.
    const isKept = this.isWhole && size <= MAX_OF_RECORDS && records.some(({ service }) => service.length > 0);
    return {
      type: "result",
      callId,
      toolName,
      isText: isText || undefined,
      own: list(this.own),
      made: list(this.made),
      codes: this.codes || undefined,
      addresses: list(this.addresses),
      privateNumbers: list(this.privateNumbers),
      written: list(this.written),
      records: isKept ? records : undefined,
    };
  }
}

/**
 * What a destination names without what people and models write around it: `Ann <ann@firm.com>`, `mailto:`, `#general`, `@ann`.
 * What stands before the address is a name of a person, and no host: `evil.com <ann@firm.com>` opens evil.com.
 */
function writtenAs(value: string): string[] {
  if (value.length > 500) return [];
  const found =
    /^(?:(?:["']?\p{L}(?:[\p{L}\p{M} ,'()&-]|\.(?![\p{L}\p{N}]{2}))*["']?\s*)?<([^<>\s]+@[^<>\s]+)>|mailto:([^?\s]+)|[#@]([\p{L}\p{N}_-]+))$/u.exec(
      value.trim(),
    );
  return found ? found.slice(1).filter((each) => each !== undefined) : [];
}

/** Two services can use the same short id: an `event_id` is an id of a tool for events. */
function kindOf(path: string): string | undefined {
  const kind = /([a-z]{3,})_?ids?_?(?:\[\d+\])*$/i.exec(path)?.[1]?.toLowerCase();
  return kind && FILES.test(kind) ? "file" : kind;
}

const FILES = /^(?:attachment|document|file)s?$/i;
/** Calls that fetch or add something, and neither change nor send it: one word names what they are for. */
const OPENS = /^(?:cart_)?(?:add|attach|checkout|copy|download|export|fetch|get|open|save|view)(?:_|$)/;
const EXPOSES =
  /access|account|admin|collab|delet|forward|grant|hook|invit|key|link|member|owner|pay|permission|publi|remov|role|rule|send|shar|token|transfer|user/i;

function serverOf(toolName: string): string {
  return /^(.*)__/.exec(toolName)?.[1] ?? "";
}

/** Lines of the user's own text, and what stands behind a label such as "Names: ". */
function linesOf(text: string): string[] {
  if (isName(text) && !/:\s/.test(text)) return [text];
  return text.split(/\r?\n/, MAX_OF_RESULT).flatMap((line) => {
    const at = line.search(/:\s/);
    return at < 0 ? [line] : [line, line.slice(0, at), line.slice(at + 1)];
  });
}

function asUnvouched({ path, value, role }: Argument): Unvouched {
  return { argument: path, value, authority: role };
}

function isBlank(item: number | string | undefined): boolean {
  return item === " " || item === "\n" || item === undefined;
}

function isJoining(item: number | string | undefined, joins: string): boolean {
  return typeof item === "string" && joins.includes(item);
}

function addAll(set: Set<number>, values: readonly number[]): void {
  for (const value of values) if (set.size < MAX_HASHES) set.add(value);
}

// The hashes of the items have a key already: what joins them only has to keep their order.
function foldItem(fold: number, hash: number): number {
  return Math.imul((fold ^ (hash >>> 0)) + ((hash / 0x100000000) >>> 0), 0x9e3779b1) ^ (fold >>> 15);
}

function foldOther(fold: number, hash: number): number {
  return Math.imul((fold + (hash >>> 0)) ^ ((hash / 0x100000000) >>> 0), 0x85ebca77) ^ (fold >>> 13);
}

function joined(fold: number, other: number): number {
  return (fold >>> 0) * 0x200000 + (other >>> 11);
}
