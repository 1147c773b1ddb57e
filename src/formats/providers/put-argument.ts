/** A piece of streamed arguments: a value, or more of a text, at a place such as `$.lines[0].text`. */
export interface PartialArgument {
  jsonPath?: string;
  stringValue?: string;
  numberValue?: number;
  boolValue?: boolean;
  nullValue?: unknown;
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]/g;

/** Puts one piece into `root`, which is changed. A path that cannot be read leaves it as it is. */
export function putArgument(root: unknown, part: PartialArgument): unknown {
  const steps = Array.from((part.jsonPath ?? "").matchAll(STEP), (step) =>
    step[2] === undefined ? (step[1] ?? step[3] ?? step[4] ?? "") : Number(step[2]),
  );
  const last = steps.at(-1);
  if (last === undefined || steps.some((step) => typeof step === "number" && step > MAX_ITEMS)) return root;
  let holder = root as Holder;
  for (const [at, step] of steps.slice(0, -1).entries()) {
    const below = own(holder, step);
    if (typeof below === "object" && below !== null) holder = below as Holder;
    else holder = put(holder, step, typeof steps[at + 1] === "number" ? [] : {}) as Holder;
  }
  const before = own(holder, last);
  const { stringValue, numberValue, boolValue } = part;
  if (stringValue !== undefined) put(holder, last, (typeof before === "string" ? before : "") + stringValue);
  else put(holder, last, numberValue ?? boolValue ?? null);
  return root;
}

const MAX_ITEMS = 10_000;

type Holder = Record<PropertyKey, unknown>;

function own(holder: Holder, key: PropertyKey): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** As a property of its own, also where the name is `__proto__`; the gate refuses that one. */
function put(holder: Holder, key: PropertyKey, value: unknown): unknown {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
  return value;
}
