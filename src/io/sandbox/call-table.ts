/**
 * The file that the launcher (`native/launch.c`) executes: a list of system calls, then the data that they point to.
 * The launcher maps it at a fixed address, so every address is known when the file is written.
 */

const TABLE_ADDRESS = 0x1000000000n;
const ENTRY_BYTES = 72;
const STORE_OFFSET = 56;
const ON_ERROR_OFFSET = 64;
const STOP = -1;

/** Entries that are not system calls; see `native/launch.c`. */
const EXECUTE = -1;
const SUPERVISE = -2;
const SUPERVISE_ALL = -3;
const SUPERVISE_REPORT = -4;

/** A place in the data of the table. */
export class TableAddress {
  readonly offset: number;

  constructor(offset: number) {
    this.offset = offset;
  }

  plus(bytes: number): TableAddress {
    return new TableAddress(this.offset + bytes);
  }
}

export type CallArgument = number | bigint | TableAddress;

interface Entry {
  number: number;
  args: readonly CallArgument[];
  store?: TableAddress;
  /** How many entries are skipped if the call fails. Undefined: the command does not start. */
  skipOnError?: number;
  /** The result becomes the first argument of the next entry. */
  storeInNext?: boolean;
}

export type CallOptions = Pick<Entry, "store" | "skipOnError" | "storeInNext">;

/** Collects system calls. `build` gives the bytes of the file. */
export class CallTable {
  readonly #entries: Entry[] = [];
  readonly #chunks: { offset: number; bytes: Buffer; pointers: readonly [at: number, target: TableAddress][] }[] = [];
  readonly #texts = new Map<string, TableAddress>();
  #dataBytes = 0;

  get length(): number {
    return this.#entries.length;
  }

  /** Adds a required call: if it fails, the command does not start. */
  call(number: number, args: readonly CallArgument[], options: CallOptions = {}): void {
    this.#entries.push({ number, args, ...options });
  }

  /** Adds a call that may fail. */
  try(number: number, args: readonly CallArgument[]): void {
    this.call(number, args, { skipOnError: 0 });
  }

  /** Adds a call, and calls that run only if it succeeded. */
  skippable(number: number, args: readonly CallArgument[], add: () => void): void {
    const entry: Entry = { number, args };
    this.#entries.push(entry);
    const before = this.#entries.length;
    add();
    entry.skipOnError = this.#entries.length - before;
  }

  /** Adds a call that must fail. `impossible` is a call that always fails. */
  refuse(number: number, args: readonly CallArgument[], impossible: number): void {
    this.call(number, args, { skipOnError: 1 });
    this.call(impossible, [-1]);
  }

  /** Ends the launcher with the result of a call as exit code; an error stops it as usual. */
  exitWithResult(number: number, args: readonly CallArgument[], exitCall: number): void {
    this.call(number, args, { storeInNext: true });
    this.call(exitCall, [0]);
  }

  /** From here on a child continues. The launcher waits for it and ends like it. */
  supervise(): void {
    this.call(SUPERVISE, []);
  }

  /** The same. In the end the launcher reports what the child was refused; see `struct Watch` of `native/launch.c`. */
  superviseAndReport(watch: readonly CallArgument[]): void {
    this.call(SUPERVISE_REPORT, watch);
  }

  /** The same, and kills every process that it may signal. Only in a namespace or a domain that limits these. */
  superviseAll(): void {
    this.call(SUPERVISE_ALL, []);
  }

  /** Stores bytes. `pointers` are places in them that get the address of other data. */
  data(bytes: Buffer, pointers: readonly [at: number, target: TableAddress][] = []): TableAddress {
    return this.#add(bytes, pointers, 8);
  }

  /** A text that ends with a zero byte. The same text is stored once. */
  text(value: string): TableAddress {
    let address = this.#texts.get(value);
    if (address === undefined) {
      if (value.includes("\0")) throw new Error("A text of the table contains a zero byte");
      address = this.#add(Buffer.from(`${value}\0`), [], 1);
      this.#texts.set(value, address);
    }
    return address;
  }

  /** Numbers of 64 bits. */
  words(...values: readonly (number | bigint)[]): TableAddress {
    const bytes = Buffer.alloc(8 * values.length);
    for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 8 * index);
    return this.data(bytes);
  }

  build(): Buffer {
    const entries: Entry[] = [...this.#entries, { number: EXECUTE, args: [] }];
    const dataStart = entries.length * ENTRY_BYTES;
    const bytes = Buffer.alloc(dataStart + this.#dataBytes);
    const addressOf = ({ offset }: TableAddress): number => Number(TABLE_ADDRESS) + dataStart + offset;
    for (const [index, { number, args, store, storeInNext, skipOnError = STOP }] of entries.entries()) {
      const at = index * ENTRY_BYTES;
      putWord(bytes, at, number);
      for (const [position, value] of args.entries())
        putWord(bytes, at + 8 + 8 * position, value instanceof TableAddress ? addressOf(value) : value);
      if (storeInNext) putWord(bytes, at + STORE_OFFSET, Number(TABLE_ADDRESS) + at + ENTRY_BYTES + 8);
      if (store) putWord(bytes, at + STORE_OFFSET, addressOf(store));
      putWord(bytes, at + ON_ERROR_OFFSET, skipOnError);
    }
    for (const { offset, bytes: chunk, pointers } of this.#chunks) {
      chunk.copy(bytes, dataStart + offset);
      for (const [at, target] of pointers) putWord(bytes, dataStart + offset + at, addressOf(target));
    }
    return bytes;
  }

  #add(bytes: Buffer, pointers: readonly [number, TableAddress][], alignment: number): TableAddress {
    const offset = Math.ceil(this.#dataBytes / alignment) * alignment;
    this.#chunks.push({ offset, bytes, pointers });
    this.#dataBytes = offset + bytes.length;
    return new TableAddress(offset);
  }
}

/** Without big integers for ordinary numbers: a table may have ten thousands of them. */
function putWord(bytes: Buffer, at: number, value: number | bigint): void {
  if (typeof value === "bigint") bytes.writeBigInt64LE(BigInt.asIntN(64, value), at);
  else {
    bytes.writeInt32LE(value | 0, at);
    bytes.writeInt32LE(Math.floor(value / 2 ** 32), at + 4);
  }
}
