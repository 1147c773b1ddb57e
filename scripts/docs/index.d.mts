export interface Document {
  file: string;
  isConverted: boolean;
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
/** Runs the blocks of a document, in a new folder. */
export function runDocument(
  document: Document,
  workshop: Workshop,
): Promise<{ executed: number; problems: Problem[]; skipped?: string }>;
