export function makeCertificate(names: readonly string[]): { key: string; cert: string };
