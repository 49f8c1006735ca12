import { parseJson } from './parse-json.ts';
import type { Source } from './source.ts';

const STRING_OR_COMMENT = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const STRING_OR_COMMA = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|,(?=\s*[}\]])/g;

/** What must go becomes spaces, so that every place stays where it is. */
export function parseJsonc(text: string, file: string): Source {
  const bare = text
    .replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? found : blank(found)))
    .replace(STRING_OR_COMMA, (found) => (found.startsWith('"') ? found : ' '));
  return parseJson(bare, file);
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}
