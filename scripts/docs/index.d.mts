export interface Document {
  file: string;
  blocks: readonly { line: number; language: string }[];
  problems: readonly Problem[];
}

export interface Problem {
  line: number;
  message: string;
  details?: string;
}

export interface Workshop {
  folder: string;
  close(): void;
}

/** The documents of a folder. */
export function readDocuments(root: string): Document[];
export function readDocument(file: string, text: string): Document;
/** A folder with the packed package of the folder `archive`, in which documents run. */
export function openWorkshop(archive: string): Workshop;
export interface Services {
  /** The URL of a new PostgreSQL database, for a document that needs one. */
  createDatabase?(): Promise<string>;
  /** How long one command or script may take. */
  maxMs?: number;
}

/** Runs the blocks of a document, in a new folder. */
export function runDocument(
  document: Document,
  workshop: Workshop,
  services?: Services,
): Promise<{ executed: number; problems: Problem[]; skipped?: string }>;
/** Of a translation with the same code: the document that runs for both. */
export function originalOf(document: Document, documents: readonly Document[]): Document | undefined;
