/** Reads parameters of other clients out of an input, which it changes. For `convertInput`. */
export class ForeignInput {
  readonly repairs: string[] = [];
  readonly problems: string[] = [];

  constructor(readonly input: Record<string, unknown>) {}

  has(name: string): boolean {
    return Object.hasOwn(this.input, name);
  }

  /** Removes a parameter and returns its value; undefined if it was not given. */
  take(name: string): unknown {
    const value = this.input[name];
    delete this.input[name];
    return value;
  }

  /** Sets the tool's own parameter. If it was given with another value, the call is refused. */
  set(name: string, value: unknown, from: string): void {
    if (this.has(name) && this.input[name] !== value) {
      this.problems.push(`${from}: contradicts "${name}", which was given too; send one of them`);
    } else this.input[name] = value;
    this.repairs.push(`${from}: read as ${name}: ${JSON.stringify(value)}`);
  }

  /** Reads `from` as the tool's own parameter `name`; `convert` returns undefined for a value that it cannot use. */
  move(from: string, name: string, convert: (value: unknown) => unknown = (value) => value): void {
    if (!this.has(from)) return;
    const given = this.take(from);
    const value = convert(given);
    if (value === undefined) this.problems.push(`${from}: ${JSON.stringify(given)} cannot be used; send ${name}`);
    else this.set(name, value, from);
  }

  /** As `move`, for a flag that means the opposite. */
  moveInverted(from: string, name: string): void {
    this.move(from, name, (value) => (flagOf(value) === undefined ? undefined : !flagOf(value)));
  }

  /** Removes a parameter that changes nothing here, and records why. */
  drop(name: string, why: string): void {
    if (!this.has(name)) return;
    this.take(name);
    this.repairs.push(`${name}: not used; ${why}`);
  }

  /** Refuses the call if the parameter was given. */
  refuse(name: string, advice: string): void {
    if (this.has(name)) this.problems.push(`${name}: unknown parameter. ${advice}`);
  }
}

/** Also a number that was sent as text. */
export function integerOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

/** Also a flag that was sent as text. */
export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" ? true : value === "false" ? false : undefined;
}
