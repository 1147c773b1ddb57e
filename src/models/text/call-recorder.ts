import { parseJson } from "../../core/parse-json.ts";
import { failureOf, toFailure, type ToolFailure } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import { Malformed, type Source } from "./text-source.ts";
import type { TextFormatName } from "./text-format.ts";
import type { ParsedToolCall, ToolCallEvent } from "./tool-call-parser.ts";

/** Bounds of one text: no honest answer comes near them. */
const CALL_LIMITS = { calls: 512, characters: 4 * 1024 * 1024, name: 200 };

/** Turns what readers find into events, one call at a time. A call lasts until the next one opens, or until `close`. */
export interface CallRecorder {
  /** A call begins. All that was taken and told to nobody belongs to it. */
  open(format: TextFormatName, options?: { tentative?: boolean }): void;
  /** It is certain now that this is a call. */
  confirm(): void;
  setName(name: string): void;
  setModelId(id: string): void;
  /** It shows only now which format this is. */
  readAs(format: TextFormatName): void;
  /** A piece of the arguments, as JSON. */
  write(json: string): void;
  repair(what: string): void;
  /** The call was read to its end; without `input`, what was written is its input. */
  finish(input?: Record<string, unknown>): void;
  fail(reason: Malformed): void;
  close(): void;
  /** It was no call: what was taken is the caller's again. */
  discard(): void;
  readonly isOpen: boolean;
  readonly isTentative: boolean;
  readonly isFailed: boolean;
  readonly isFinished: boolean;
  /** Whether anybody wants the arguments piece by piece. */
  readonly streams: boolean;
  /** Nothing of it was read yet. */
  readonly isEmpty: boolean;
  readonly name: string;
  readonly hasName: boolean;
  readonly isFull: boolean;
}

export interface RecorderOptions {
  source: Source;
  emit(event: ToolCallEvent): void;
  /** Whether anybody wants arguments piece by piece. */
  streams: boolean;
  newId(): string;
  explain(reason: string, name: string, format: TextFormatName): string;
}

interface OpenCall {
  id: string;
  index: number;
  format: TextFormatName;
  isTentative: boolean;
  isStarted: boolean;
  name: string | undefined;
  modelId: string | undefined;
  json: string;
  repairs: string[];
  input: Record<string, unknown> | undefined;
  failure: ToolFailure | undefined;
}

export function createCallRecorder({ source, emit, streams, newId, explain }: RecorderOptions): CallRecorder {
  let current: OpenCall | undefined;
  let count = 0;

  const opened = (): OpenCall => {
    if (!current) throw new Error("No call is open.");
    return current;
  };
  const start = (call: OpenCall): void => {
    if (call.isStarted || call.isTentative || call.name === undefined) return;
    call.isStarted = true;
    emit({ type: "call_started", id: call.id, index: call.index, name: call.name });
    if (streams && call.json) emit({ type: "call_arguments", id: call.id, index: call.index, delta: call.json });
  };
  const fail = (call: OpenCall, { reason, code }: Malformed): void => {
    call.failure = failureOf(code, explain(reason, call.name ?? "", call.format));
  };
  const settle = (call: OpenCall): void => {
    if (!call.failure && !call.input) fail(call, new Malformed("it is not complete"));
    if (!call.failure && !call.name) fail(call, new Malformed("it does not name a tool"));
    if (source.markedLength > CALL_LIMITS.characters) {
      fail(call, new Malformed(`it has more than ${CALL_LIMITS.characters} characters`, "input_too_large"));
    }
  };

  const recorder: CallRecorder = {
    get isOpen() {
      return current !== undefined;
    },
    get isTentative() {
      return current?.isTentative ?? false;
    },
    get isFailed() {
      return current?.failure !== undefined;
    },
    get isFinished() {
      return current?.input !== undefined;
    },
    streams,
    get isEmpty() {
      return current !== undefined && current.name === undefined && current.json === "";
    },
    get name() {
      return current?.name ?? "";
    },
    get hasName() {
      return current?.name !== undefined;
    },
    get isFull() {
      return count >= CALL_LIMITS.calls;
    },
    open(format, { tentative = false } = {}) {
      if (current) recorder.close();
      current = {
        id: newId(),
        index: count,
        format,
        isTentative: tentative,
        isStarted: false,
        name: undefined,
        modelId: undefined,
        json: "",
        repairs: [],
        input: undefined,
        failure: undefined,
      };
    },
    confirm() {
      opened().isTentative = false;
      start(opened());
    },
    setName(name) {
      const call = opened();
      if (name.length > CALL_LIMITS.name) throw new Malformed("its name is too long");
      if (/[<>{}"\n]/.test(name)) throw new Malformed(`${JSON.stringify(name.slice(0, 40))} is no name of a tool`);
      call.name = name;
      if (name) start(call);
    },
    setModelId(id) {
      opened().modelId = id;
    },
    readAs(format) {
      opened().format = format;
    },
    write(json) {
      const call = opened();
      call.json += json;
      if (streams && call.isStarted) emit({ type: "call_arguments", id: call.id, index: call.index, delta: json });
    },
    repair(what) {
      const { repairs } = opened();
      if (!repairs.includes(what) && repairs.length < 20) repairs.push(what);
    },
    finish(input) {
      const call = opened();
      call.input = input ?? inputFrom(call.json);
    },
    fail(reason) {
      fail(opened(), reason);
    },
    close() {
      const call = current;
      if (!call) return;
      settle(call);
      current = undefined;
      count++;
      const { id, index, failure } = call;
      const parsed: ParsedToolCall = {
        id,
        name: call.name ?? "",
        input: call.input ?? {},
        rawText: source.takeMarked(),
        format: call.format,
        modelId: call.modelId,
        repairs: call.repairs.length > 0 ? call.repairs : undefined,
        failure,
      };
      emit({ type: failure ? "call_failed" : "call_completed", id, index, call: parsed });
    },
    discard() {
      current = undefined;
    },
  };
  return recorder;
}

/** Strictly: what was mended is plain JSON by now, and a key that stands twice has no one meaning. */
export function inputFrom(json: string): Record<string, unknown> {
  let input: unknown;
  try {
    input = parseJson(json === "" ? "{}" : json);
  } catch (thrown) {
    const { code, message } = toFailure(thrown);
    throw new Malformed(message.replace(/^Parameter validation failed: /, "").replace(/\.$/, ""), code);
  }
  if (!isObject(input)) throw new Malformed("its arguments are no object");
  return input;
}
