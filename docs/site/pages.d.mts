export interface IndexGroup {
  readonly title: string;
  readonly items: readonly { readonly title: string; readonly file: string }[];
}
export type LinkTarget =
  | { readonly page: string; readonly hash: string; readonly asset?: never; readonly source?: never }
  | { readonly asset: string; readonly page?: never; readonly source?: never }
  | { readonly source: string; readonly page?: never; readonly asset?: never };
export const INDEX: string;
export function findPages(root: string): Map<string, string>;
export function readIndex(root: string): IndexGroup[];
export function resolveLink(
  root: string,
  pages: ReadonlyMap<string, string>,
  from: string,
  link: string,
): LinkTarget | undefined;
export function slugOf(heading: string): string;
