/** What the proxy refused lately, so that a page that did not load can be explained. */
export interface RefusedAddresses {
  note(target: string, error: unknown): void;
  /** Why this address was refused since it was last asked for, where it was. */
  take(url: string): unknown;
}

const MAX_ENTRIES = 200;

export function createRefusedAddresses(): RefusedAddresses {
  const errors = new Map<string, unknown>();
  return {
    note(target, error) {
      const key = keyOf(target.includes("://") ? target : `https://${target}`);
      errors.delete(key);
      errors.set(key, error);
      if (errors.size > MAX_ENTRIES) errors.delete(errors.keys().next().value!);
    },
    take(url) {
      const key = keyOf(url);
      const error = errors.get(key);
      errors.delete(key);
      return error;
    },
  };
}

/** The proxy is told a host and a port, of plain requests the origin. */
function keyOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === "http:" || protocol === "ws:" ? 80 : 443)}`;
}
