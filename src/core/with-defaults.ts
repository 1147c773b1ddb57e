/** `{ ...defaults, ...options }`, except that an option that is undefined keeps its default. */
export function withDefaults<Defaults extends object, Options extends object = Partial<Defaults>>(
  defaults: Defaults,
  options: Options | undefined,
): Defaults & Omit<Options, keyof Defaults> {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as Defaults & Omit<Options, keyof Defaults>;
}
