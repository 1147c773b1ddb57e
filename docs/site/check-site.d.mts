export function checkSite(folder: string, base: string): { readonly pages: number; readonly problems: string[] };
