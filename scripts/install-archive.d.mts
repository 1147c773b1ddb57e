/** Packs Haft and unpacks the archive into `folder/node_modules/haft`; returns that folder. */
export function installArchive(folder: string, packages?: readonly string[]): Promise<string>;
/** The files of the archive that npm would publish, and its packed size. */
export function listArchive(): Promise<{ paths: string[]; size: number }>;
/** Links a package of the repository into another `node_modules`. */
export function linkPackage(modules: string, name: string): void;
