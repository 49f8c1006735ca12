// Whether a call reads or acts. The operator decides, then the plugin, then the server of a listed
// tool by its hint (all three arrive as `tool.effect`), then the first verb of the name. A name that
// says nothing acts.

import type { ITool, ToolEffect } from '@starloom/sdk';
import { isForeign, nameWords, wordSet } from './tool-name.ts';

const READS = wordSet(
  'read get list search find show describe view fetch lookup query count stat diff blame tree grep glob inspect ' +
    'check validate lint parse preview echo ping help recall summarize summarise calculate compute convert translate ' +
    'browse visit navigate retrieve see explain compare analyze analyse scan detect estimate ' +
    'wait sleep greet sum reason think classify extract rank encode decode hash recommend suggest whoami head tail history status now time date',
);
/** Verbs that are nothing else, also behind other words; the last word of a name is rather a noun. */
const SURE_READS = wordSet('get read search find fetch query lookup retrieve describe');
const INNER_READS = wordSet('list view show');
const ACTS = wordSet(
  'write edit append delete remove destroy drop truncate wipe erase purge clear move rename replace patch update modify ' +
    'change create insert add set put make generate exec execute run spawn eval start stop restart kill install uninstall ' +
    'send publish upload share forward reply notify tweet invite push commit merge deploy apply rollback reset checkout ' +
    'pay transfer withdraw deposit buy purchase refund cancel approve grant revoke register submit enable disable ' +
    'remember forget store save delegate assign reserve schedule reschedule connect disconnect unlock subscribe ' +
    'unsubscribe follow unfollow block unblock accept reject decline join leave turn control manage dispatch trigger ' +
    'open exchange export adjust archive restore import sync post book order call ask lock mark flag vote rate like donate invest trade sell',
);
/** Also nouns: verbs only as the first word of a name. */
const NOUN_VERBS = wordSet(
  'post book order call ask lock mark flag vote rate like trade share time date status history check track export ' +
    'head tail load count stat diff tree help open export exchange control store',
);
/** Wherever they stand, nothing else. */
const SURE_ACTS = wordSet(
  'replace delete remove write overwrite insert upload execute exec drop wipe purge destroy',
);
const MUTATING_SQL =
  /\b(?:drop\s+(?:table|database|schema|view|index|user|role)|delete\s+from|truncate\s+(?:table\s+)?\w|insert\s+into|update\s+\S+\s+set\s|alter\s+(?:table|user|role|database|system)|(?:grant|revoke)\s+\w+\s+(?:on|to|from)|create\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+)?(?:table|user|role|function|trigger|view|index|database|extension|procedure)|(?:replace|merge)\s+into|rename\s+table|copy\s+\S+\s+(?:to|from)\b|call\s+[\w.]+\s*\(|exec(?:ute)?\s+(?:immediate|sp_|xp_)|into\s+(?:out|dump)file|select\b[^;]*\binto\s+\w+\s+from|load\s+data|attach\s+database|pragma\s+\w+\s*=|load_extension\s*\(|pg_\w+\s*\(|dblink)/i;
/** What SQL does not run: comments, and texts in quotes. */
const SQL_TEXT = /\/\*[\s\S]*?\*\/|--[^\n]*|'(?:[^']|'')*'/g;
const OUTPUT =
  /(?:^|[_-])(?:out|output|save|dest|destination|export|write)(?:[_-]?(?:file|path|dir|folder|to|as))?$/i;

/** What changes data acts, whatever a server says of it; a plugin of the agent knows better. */
export function effectOf(tool: ITool, args?: unknown): ToolEffect {
  if (tool.effect === 'act' || (tool.effect && !isForeign(tool))) return tool.effect;
  return changesData(args) ? 'act' : (tool.effect ?? effectOfName(tool.name));
}

/** `get_order` reads; `get_or_create` and `wipe_all_logs_info` act. */
function effectOfName(name: string): ToolEffect {
  const parts = nameWords(name);
  const at = parts.findIndex((word, index) => {
    if (index > 0 && NOUN_VERBS.has(word)) return false;
    return READS.has(word) || ACTS.has(word);
  });
  const verb = parts[at] ?? '';
  if (!READS.has(verb) || parts.includes('or') || parts.includes('and')) return 'act';
  if (verb === 'check' && /^(?:in|out)$/.test(parts[at + 1] ?? '')) return 'act';
  if (parts.some((word) => SURE_ACTS.has(word))) return 'act';
  const isLast = at === parts.length - 1;
  if (SURE_READS.has(verb) || (INNER_READS.has(verb) && (at === 0 || !isLast))) return 'read';
  const acts = parts.some((word) => ACTS.has(word) && !NOUN_VERBS.has(word));
  return at === 0 && !acts ? 'read' : 'act';
}

/** A statement that changes data or a file to write, in a tool that is named as a reader. */
function changesData(args: unknown): boolean {
  return Object.entries(Object(args)).some(([key, value]) => {
    if (typeof value !== 'string' || value.length > 65_536) return false;
    return OUTPUT.test(key) || MUTATING_SQL.test(value.replaceAll(SQL_TEXT, ' '));
  });
}
