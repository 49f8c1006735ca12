// Files below named folders, and nothing else: what tools and agents may be given paths for.

export { fileFailure, openFile, readText, type TextFile } from './read-file.ts';
export { assertNotGit, FOLDER, pathOf, replaceFile } from './replace-file.ts';
export { isInside, Roots } from './roots.ts';
