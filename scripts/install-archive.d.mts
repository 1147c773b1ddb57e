/** Packs Haft and unpacks the archive into `folder/node_modules/haft`; returns that folder. */
export function installArchive(folder: string, packages?: readonly string[]): Promise<string>;
