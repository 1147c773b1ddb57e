import type { Surface } from "./surface.ts";

/** What is shown now, by session. Documents outlive it as artifacts; what is shown does not outlive the process. */
export interface CanvasBoard {
  show(surface: Surface): void;
  /** False where nothing was shown. */
  hide(session: string): boolean;
  find(session: string): Surface | undefined;
  /** Newest first. */
  list(): Surface[];
}

const MAX_SURFACES = 200;

export function createCanvasBoard(): CanvasBoard {
  const surfaces = new Map<string, Surface>();
  return {
    show(surface) {
      surfaces.delete(surface.session);
      surfaces.set(surface.session, surface);
      if (surfaces.size > MAX_SURFACES) surfaces.delete(surfaces.keys().next().value!);
    },
    hide: (session) => surfaces.delete(session),
    find: (session) => surfaces.get(session),
    list: () => [...surfaces.values()].reverse(),
  };
}
