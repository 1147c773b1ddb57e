/** What the proxy refused lately, so that a page that did not load can be explained. */
export interface RefusedPlaces {
  note(place: string, error: unknown): void;
  /** Why this address was refused since it was last asked for, where it was. */
  take(url: string): unknown;
}

const MOST = 200;

export function createRefusedPlaces(): RefusedPlaces {
  const places = new Map<string, unknown>();
  return {
    note(place, error) {
      const key = keyOf(place.includes("://") ? place : `https://${place}`);
      places.delete(key);
      places.set(key, error);
      if (places.size > MOST) places.delete(places.keys().next().value!);
    },
    take(url) {
      const key = keyOf(url);
      const error = places.get(key);
      places.delete(key);
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
