/** Where the built page is: hashed files with their compressed twins, and `index.html`. */
export const PAGE_FOLDER: URL = new URL('../dist/page/', import.meta.url);
