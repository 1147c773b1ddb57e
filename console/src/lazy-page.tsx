import { type ComponentType, use } from "react";

/** The view of a page, loaded when it is first shown. `reset` makes the next attempt load it again after a failure. */
export type LazyPage<Props = object> = ComponentType<Props> & { reset(): void };

type Module<Props> = { default: ComponentType<Props> };

/** The code of a page could not be loaded: the server is away, or has another version since. */
export class ChunkError extends Error {
  override readonly name = "ChunkError";
}

const RETRY_MS = [200, 600, 1_500];

export function lazyPage<Props extends object = object>(load: () => Promise<Module<Props>>): LazyPage<Props> {
  let loading: Promise<Module<Props>> | undefined;
  function View(props: Props) {
    const { default: Component } = use((loading ??= loadWithRetry(load)));
    return <Component {...props} />;
  }
  return Object.assign(View, {
    reset() {
      loading = undefined;
    },
  });
}

/** Loads code that is needed only sometimes, with the retries of a page. */
export async function loadWithRetry<M>(load: () => Promise<M>): Promise<M> {
  let attempt: () => Promise<M> = load;
  for (const waitMs of [...RETRY_MS, undefined]) {
    try {
      return await attempt();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (waitMs === undefined) throw new ChunkError(message, { cause: error });
      // Some browsers remember a failed address: another query makes them fetch it.
      const url = /https?:\/\/\S+\.js/.exec(message)?.[0];
      if (url !== undefined) attempt = () => import(/* @vite-ignore */ `${url}?retry=${Date.now()}`) as Promise<M>;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
  throw new ChunkError("not reached");
}
