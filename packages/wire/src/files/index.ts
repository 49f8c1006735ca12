// Files below named folders, and nothing else: what tools and agents may be given paths for.

export { codeOf, fileFailure } from './file-failure.ts';
export { openFile } from './open-file.ts';
export { FOLDER, pathOf } from './open-folder.ts';
export { readText, type TextFile } from './read-text.ts';
export { type Replacement, replaceFile } from './replace-file.ts';
export { isInside, Roots } from './roots.ts';
