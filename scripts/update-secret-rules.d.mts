/** RE2 syntax as JavaScript without flags. */
export function translate(source: string): string;
