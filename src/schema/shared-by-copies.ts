/**
 * What all copies of Haft in this process share. A program may load several: a bundle, the command line, a linked package.
 * Created at first use, because nothing happens at import.
 */
export function sharedByCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(`haft/${name}/1`);
  if (!(key in globalThis)) Object.defineProperty(globalThis, key, { value: create() });
  return (globalThis as unknown as Record<symbol, T>)[key] as T;
}
